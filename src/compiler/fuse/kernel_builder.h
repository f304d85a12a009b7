// Collects one KernelSpec: numbers its buffers, and evaluates nodes into steps, each once.
#pragma once
#include "compiler/fuse/lower.h"

namespace baretile::compiler {

class KernelBuilder {
 public:
  KernelBuilder(Lowering& lowering, const Cluster& cluster);

  void output(u32 node, u32 value);
  PlannedKernel finish();

 private:
  u32 add(Step step);
  u32 member(u32 node);  // a node of the cluster itself
  // What `input` is when seen through the views `outer`, from outside of the cluster: a load, a constant, or computed
  // again.
  u32 outside(u32 input, const std::vector<u32>& outer);
  u32 load(u32 node, u32 seen, const std::vector<u32>& chain);
  template <typename Input>
  u32 arithmetic(u32 node, Input input);
  u32 contraction(u32 node);
  Access access(u32 value, Access pages);

  struct Known {
    u32 node;
    std::vector<u32> chain;
    bool is_member;
    u32 step;
  };
  template <typename Make>
  u32 once(u32 node, const std::vector<u32>& chain, bool is_member, Make make);

  Lowering& lowering_;
  const Analysis& a_;
  PlannedKernel kernel_;
  std::vector<Known> known_;
  std::vector<std::string> words_;  // for the name
};

// The kernel-local number of a value.
u32 local_buffer(const FusionPlan& plan, PlannedKernel& kernel, u32 value);

// Pages of `from` as `access` finds them become all of `to`; on the coprocessor, with conversion.
void copy_pages(FusionPlan& plan, u32 from, const Access& access, u32 to);
void fill(FusionPlan& plan, double number, u32 to);

// The elements that `view` finds in `from`, one by one.
struct Box {
  View view;                      // any axes; all of them together are the box
  std::vector<i64> axis_strides;  // of each axis of the view in `to`, in elements
  i64 offset = 0;                 // of the box in `to`
  bool clear = true;              // the rest of `to` becomes zero
};
void copy_elements(FusionPlan& plan, u32 from, const Box& box, u32 to);

}  // namespace baretile::compiler
