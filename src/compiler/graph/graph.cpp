#include "compiler/graph/graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace baretile::compiler {

namespace {

struct Hasher {
  u64 state = 0x9E3779B97F4A7C15;
  void add(u64 value) { state = std::rotl(state ^ value, 27) * 0x9FB21C651E98DF25; }
  void add(const Node& node) {
    add(u64(node.op) | u64(node.dtype) << 8 | u64(node.shape.size()) << 16 | u64(node.inputs.size()) << 24);
    add(std::bit_cast<u64>(node.value));
    for (i64 extent : node.shape) add(u64(extent));
    for (u32 input : node.inputs) add(input);
    for (i64 attr : node.attrs) add(u64(attr));
  }
};

}  // namespace

Extents extents(const Shape& shape) {
  Extents out;
  size_t rank = shape.size();
  if (rank > 0) out.cols = shape[rank - 1];
  if (rank > 1) out.rows = shape[rank - 2];
  for (size_t i = 0; i + 2 < rank; ++i) out.batch *= shape[i];
  return out;
}

i64 element_count(const Shape& shape) {
  i64 count = 1;
  for (i64 extent : shape) count *= extent;
  return count;
}

u64 hash(const Graph& graph) {
  Hasher hasher;
  for (const Node& node : graph.nodes) hasher.add(node);
  for (u32 output : graph.outputs) hasher.add(output);
  return hasher.state;
}

Graph simplify(const Graph& graph) {
  Graph out;
  std::vector<u32> renumbered(graph.nodes.size());
  std::unordered_multimap<u64, u32> seen;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node node = graph.nodes[i];
    for (u32& input : node.inputs) input = renumbered[input];
    Hasher hasher;
    hasher.add(node);
    auto [first, last] = seen.equal_range(hasher.state);
    auto same = std::find_if(first, last, [&](const auto& entry) { return out.nodes[entry.second] == node; });
    if (same != last && info(node.op).family != Family::scatter) {  // a write is never the same write
      renumbered[i] = same->second;
      continue;
    }
    renumbered[i] = u32(out.nodes.size());
    seen.emplace(hasher.state, renumbered[i]);
    out.nodes.push_back(std::move(node));
  }
  for (u32 output : graph.outputs) out.outputs.push_back(renumbered[output]);
  return out;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

const char* to_string(DType dtype) {
  static constexpr const char* kNames[] = {"boolean", "uint32", "int32", "bfp4", "bfp8", "bf16", "fp32"};
  return kNames[size_t(dtype)];
}

}  // namespace baretile::compiler
