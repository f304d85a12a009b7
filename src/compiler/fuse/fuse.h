// First stage: which kernels compute a graph, and which values they leave in memory in which layout.
#pragma once
#include "compiler/graph/graph.h"
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

// A version of a buffer. Its number is what PlannedKernel::values holds.
struct Value {
  BufferDesc desc;    // external and arena_offset are those of the root of the alias chain
  i32 alias_of = -1;  // in place: starts as that value, in the same buffer
};

struct PlannedKernel {
  KernelSpec spec;
  std::vector<u32> values;  // what the spec's buffers 0, 1, … are
  std::vector<u32> writes;  // among them
  std::vector<u32> after;   // kernels that must have run before, besides the writers of what it reads
};

struct FusionPlan {
  std::vector<Value> values;
  std::vector<PlannedKernel> kernels;
  std::vector<u32> outputs;  // values, one a Graph::outputs entry
};

// Distinct values a kernel may hold in Dst at once: eight 32-bit tiles. Intermediate results that no register holds take
// some of them, which is only known when a kernel is emitted.
inline constexpr size_t kMaxSlots = 8, kFewestSlots = 2;

FusionPlan fuse(const Graph& graph, size_t max_slots = kMaxSlots);

// The value whose buffer a value lies in.
u32 root_of(const FusionPlan& plan, u32 value);

// Orders writes in place behind the readers of the old version; where that is impossible the old version is copied
// first.
void order_versions(FusionPlan& plan);

// A kernel that copies all of value `from` into a new value of that layout.
u32 copy_value(FusionPlan& plan, u32 from, Tiling tiling);

}  // namespace baretile::compiler
