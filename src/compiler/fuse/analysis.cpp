#include "compiler/fuse/analysis.h"

namespace baretile::compiler {

namespace {

Relation relation_of(const View& view, const Extents& seen, const Extents& base) {
  View plain = contiguous({base.batch, base.rows, base.cols});
  if (seen == base && view == plain) return Relation::same;
  if (seen.batch != base.batch) return Relation::other;
  auto repeated = [&](size_t axis, i64 size) {
    View expected = plain;
    append(expected.axes[axis], {u32(size), 0});
    return view == expected;
  };
  if (base.cols == 1 && seen.rows == base.rows && repeated(2, seen.cols)) return Relation::along_cols;
  if (base.rows == 1 && seen.cols == base.cols && repeated(1, seen.rows)) return Relation::along_rows;
  return Relation::other;
}

}  // namespace

Analysis::Analysis(const Graph& g)
    : graph(g),
      sources(g.nodes.size()),
      users(g.nodes.size()),
      reduced(g.nodes.size()),
      cluster_of(g.nodes.size(), -1) {
  resolve();
  for (u32 node = 0; node < graph.nodes.size(); ++node) {
    if (family(node) == Family::view) continue;
    for (u32 input : graph.nodes[node].inputs) users[sources[input].base].push_back({node, input});
  }
}

void Analysis::resolve() {
  for (u32 id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    Source& source = sources[id];
    source.base = id;
    source.seen = extents(node.shape);
    source.view = contiguous({source.seen.batch, source.seen.rows, source.seen.cols});
    if (family(id) != Family::view) continue;
    const Source& input = sources[node.inputs[0]];
    std::vector<u32> chain = input.chain;
    chain.push_back(id);
    auto view = view_through(input.base, chain, node.shape);
    if (view) {
      source.base = input.base;
    } else {  // no affine map: the input is copied in its own order, and this is a view of the copy
      chain = {id};
      source.base = node.inputs[0];
      view = view_through(source.base, chain, node.shape);
    }
    source.chain = std::move(chain);
    source.view = std::move(*view);
    source.relation = relation_of(source.view, source.seen, extents(graph.nodes[source.base].shape));
  }
}

std::optional<View> Analysis::view_through(u32 base, const std::vector<u32>& chain, const Shape& shape) const {
  std::optional<View> view = contiguous(graph.nodes[base].shape);
  for (u32 id : chain) {
    view = apply(graph.nodes[id], *view);
    if (!view) return std::nullopt;
  }
  Extents e = extents(shape);
  return reshaped(*view, {e.batch, e.rows, e.cols});
}

bool Analysis::elementwise(u32 node) const {
  Family f = family(node);
  return f == Family::unary || f == Family::binary || f == Family::ternary || f == Family::cast || f == Family::custom;
}

bool Analysis::rounds(u32 node) const {
  const Node& n = graph.nodes[node];
  return family(node) == Family::cast && dtype_bytes(n.dtype) < dtype_bytes(graph.nodes[n.inputs[0]].dtype);
}

bool Analysis::internal(u32 reader, u32 input) const {
  const Source& source = sources[input];
  if (cluster_of[reader] < 0 || cluster_of[source.base] != cluster_of[reader]) return false;
  if (family(reader) == Family::contraction || rounds(source.base)) return false;
  bool reader_reduced = family(reader) != Family::reduce && reduced[reader];
  if (reader_reduced == reduced[source.base]) return source.relation == Relation::same;
  ReduceAxis axis = clusters[size_t(cluster_of[reader])].axis;
  return !reader_reduced && source.relation == (axis == ReduceAxis::cols ? Relation::along_cols : Relation::along_rows);
}

}  // namespace baretile::compiler
