#include "compiler/fuse/placement.h"

#include <algorithm>

namespace baretile::compiler {

Placement::Placement(const Analysis& analysis)
    : a_(analysis), wanted_(analysis.graph.nodes.size()), slots_(analysis.clusters.size()) {
  const Graph& graph = a_.graph;
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i] = slots(a_, a_.clusters[i]);
  for (u32 output : graph.outputs) want_default(a_.sources[output].base);
  for (u32 node = 0; node < graph.nodes.size(); ++node) place_fixed(node);
  for (u32 node = 0; node < graph.nodes.size(); ++node) {
    if (!stored(node)) place_elementwise(node);
  }
}

// Readers that need their inputs in memory whatever else happens.
void Placement::place_fixed(u32 node) {
  const Node& n = a_.graph.nodes[node];
  Family f = a_.family(node);
  if (f == Family::contraction) {
    for (u32 side : {0u, 1u}) {
      u32 base = a_.sources[n.inputs[side]].base;
      Operand chosen = operand(node, side);
      bool emitted = chosen.node == base && a_.computed(base) &&
                     (chosen.tiling == Tiling::split ? !a_.reduced[base]
                                                     : chosen.tiling == default_tiling(a_.graph.nodes[base].shape));
      emitted ? want(base, chosen.tiling) : want_default(base);
    }
  } else if (f == Family::whole || f == Family::gather || f == Family::scatter || f == Family::join) {
    for (u32 input : n.inputs) want_default(a_.sources[input].base);
  } else if (f == Family::view && a_.sources[node].base == n.inputs[0] && a_.family(n.inputs[0]) == Family::view) {
    want_default(a_.sources[n.inputs[0]].base);  // a view of a copied view
  }
}

Operand Placement::operand(u32 contraction, u32 side) const {
  const Node& n = a_.graph.nodes[contraction];
  u32 input = n.inputs[side];
  const Source& source = a_.sources[input];
  bool split =
      side == 0 && a_.graph.nodes[input].dtype == DType::fp32 && a_.graph.nodes[n.inputs[1]].dtype == DType::bf16;
  auto tiling_of = [&](u32 node) {
    return side == 1 ? Tiling::tile : split ? Tiling::split : default_tiling(a_.graph.nodes[node].shape);
  };
  auto pages = [&](u32 node, View view, Extents seen, bool transposed) -> std::optional<Operand> {
    if (transposed) {
      std::swap(view.axes[1], view.axes[2]);
      std::swap(seen.rows, seen.cols);
    }
    Needs needs{.zero_cols = (side == 0) != transposed, .zero_rows = (side == 1) != transposed, .broadcast = false};
    auto access = page_access(view, seen, {extents(a_.graph.nodes[node].shape), tiling_of(node)}, needs);
    if (!access) return std::nullopt;
    if (transposed) std::swap(access->map.row, access->map.col);
    return Operand{node, tiling_of(node), transposed, *access};
  };
  if (a_.family(source.base) != Family::constant) {
    if (auto found = pages(source.base, source.view, source.seen, false)) return *found;
    const bool faces = tiling_of(source.base) == Tiling::tile && !a_.in_blocks(source.base);  // see whole/turned.h
    if (side == 1 || (faces && source.seen.rows > 1)) {
      if (auto found = pages(source.base, source.view, source.seen, true)) return *found;
    }
  }
  View plain = contiguous({source.seen.batch, source.seen.rows, source.seen.cols});
  return pages(input, plain, source.seen, false).value();
}

// Is `base`, seen through `chain`, cheap arithmetic on values in memory that a kernel can load itself? Counts both.
bool Placement::recomputable(u32 base, const std::vector<u32>& chain, const Shape& seen, Cost& cost) const {
  if (!a_.elementwise(base) || a_.rounds(base) || ++cost.ops > kMaxRecomputed) return false;
  for (u32 input : a_.graph.nodes[base].inputs) {
    const Source& source = a_.sources[input];
    if (a_.family(source.base) == Family::constant) continue;
    std::vector<u32> through = source.chain;
    through.insert(through.end(), chain.begin(), chain.end());
    if (!stored(source.base)) {
      if (!recomputable(source.base, through, seen, cost)) return false;
      continue;
    }
    auto view = a_.view_through(source.base, through, seen);
    const Shape& shape = a_.graph.nodes[source.base].shape;
    if (!view || !page_access(*view, extents(seen), {extents(shape), default_tiling(shape)})) return false;
    ++cost.loads;
  }
  return true;
}

void Placement::place_elementwise(u32 node) {
  size_t ops = 0;
  std::vector<std::pair<size_t, size_t>> added;  // cluster, loads
  for (Use use : a_.users[node]) {
    if (a_.internal(use.node, use.input) || !(a_.elementwise(use.node) || a_.family(use.node) == Family::reduce))
      continue;
    Cost cost;
    size_t cluster = size_t(a_.cluster_of[use.node]);
    bool cheap = recomputable(node, a_.sources[use.input].chain, a_.graph.nodes[use.input].shape, cost);
    ops += cost.ops;
    if (!cheap || ops > kMaxRecomputed || slots_[cluster] + cost.loads > a_.clusters[cluster].limit.most + 1)
      return want_default(node);
    added.push_back({cluster, cost.loads});
  }
  for (const auto& [cluster, loads] : added) slots_[cluster] += loads - std::min<size_t>(loads, 1);
}

}  // namespace baretile::compiler
