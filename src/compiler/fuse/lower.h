// Third step of fusion: clusters and moves as KernelSpecs over values.
#pragma once
#include <map>

#include "compiler/fuse/fuse.h"
#include "compiler/fuse/placement.h"

namespace baretile::compiler {

class Lowering {
 public:
  Lowering(const Analysis& analysis, const Placement& placement) : a_(analysis), placement_(placement) {}
  FusionPlan run();

  const Analysis& analysis() const { return a_; }
  const Placement& placement() const { return placement_; }
  const FusionPlan& plan() const { return plan_; }

  // The value of a node in a layout; made by a kernel of its own if the node's does not store it so.
  u32 value(u32 node, Tiling tiling);
  u32 value(u32 node) { return value(node, default_tiling(a_.graph.nodes[node].shape)); }

 private:
  u32 new_value(const Node& node, Tiling tiling, i32 alias_of = -1);
  void copy_view(u32 node, u32 to);
  u32 in_own_order(u32 node, Tiling tiling);  // a value whose pages are the node's
  u32 in_own_order(u32 node) { return in_own_order(node, default_tiling(a_.graph.nodes[node].shape)); }

  void lower_cluster(const Cluster& cluster);
  void lower_iota(u32 node);
  void lower_gather(u32 node);
  void lower_scatter(u32 node);
  void lower_join(u32 node);
  void lower_attention(u32 node);
  void lower_custom(u32 node);  // custom/lower.cpp
  void number_externals();

  const Analysis& a_;
  const Placement& placement_;
  FusionPlan plan_;
  std::map<std::pair<u32, Tiling>, u32> values_;
};

}  // namespace baretile::compiler
