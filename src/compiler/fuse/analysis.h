// What fusion knows of a graph before it decides: each node as a view of a base, who reads each base, and clusters of
// nodes that one kernel computes together.
#pragma once
#include "compiler/fuse/fuse.h"
#include "compiler/graph/layout.h"
#include "compiler/graph/view.h"

namespace baretile::compiler {

// How a node lies over its base when both are batches of matrices.
enum class Relation : u8 { same, along_cols, along_rows, other };  // along_cols: one column, repeated

// A node as a view of a node that is no view (or of one that must be copied first, see needs_copy).
struct Source {
  u32 base = 0;
  std::vector<u32> chain;  // the VIEW nodes from base to here
  Extents seen;
  View view;  // batch, rows and columns over the base's elements
  Relation relation = Relation::same;
};

struct Use {
  u32 node;   // the reader
  u32 input;  // the node it names, a view of the base or the base itself
};

// Nodes of one domain for one kernel: element by element, with reductions along one axis, or after contractions.
struct Cluster {
  Extents domain;
  ReduceAxis axis = ReduceAxis::none;
  i64 left = -1;              // contractions: the node all of them have on the left
  DType right = DType::fp32;  // and the dtype on the right
  std::vector<u32> members;   // ascending
  SlotLimit limit;            // the least of its members
};

struct Analysis {
  explicit Analysis(const Graph& g);

  const Graph& graph;
  std::vector<Source> sources;
  std::vector<std::vector<Use>> users;  // by base
  std::vector<bool> reduced;            // the value is constant along its cluster's axis and made of reductions only
  std::vector<i32> cluster_of;          // -1: not computed on a coprocessor
  std::vector<Cluster> clusters;        // merged ones stay behind without members
  std::map<std::pair<u32, u32>, Reason> apart;  // why a reader's cluster did not take in that of a base it reads

  // Block formats hold what their cast to bf16 holds, which is all that reads them: it is a view.
  Family family(u32 node) const {
    const Node& n = graph.nodes[node];
    const bool reads_blocks = n.op == Op::cast && is_block(graph.nodes[n.inputs[0]].dtype);
    return reads_blocks ? Family::view : info(n.op).family;
  }
  bool elementwise(u32 node) const;
  bool computed(u32 node) const { return cluster_of[node] >= 0; }
  bool in_blocks(u32 node) const { return is_block(graph.nodes[node].dtype); }
  // Rounding to a narrower dtype happens in memory: later readers load the rounded value.
  bool rounds(u32 node) const;
  // Reader and read value lie in one kernel, tile by tile.
  bool internal(u32 reader, u32 input) const;
  // The view that the chains of `node` and then of `outer` make of the base of `node`, as three axes with
  // `outer_shape`'s extents.
  std::optional<View> view_through(u32 base, const std::vector<u32>& chain, const Shape& shape) const;

 private:
  void resolve();
};

// What a cluster takes of them: each load, accumulator and reduction, and one result.
size_t slots(const Analysis& analysis, const Cluster& cluster);

// Fills cluster_of, clusters, apart and reduced.
void find_clusters(Analysis& analysis, const SlotLimits& limits);

// Of the value of `base` in memory, as a set.
u16 reasons(const Analysis& analysis, u32 base);

}  // namespace baretile::compiler
