// Second decision of fusion: which values go to memory, in which layout. All others live and die in Dst.
#pragma once
#include "compiler/fuse/analysis.h"
#include "compiler/fuse/page_map.h"

namespace baretile::compiler {

// One operand of a contraction: pages of `node`, or of a copy of it when no page map exists.
struct Operand {
  u32 node = 0;
  Tiling tiling = Tiling::tile;
  bool transposed = false;
  Access access;
};

class Placement {
 public:
  explicit Placement(const Analysis& analysis);

  // In memory in the layout that elementwise readers load.
  bool stored(u32 base) const { return !a_.computed(base) || wants(base, default_tiling(a_.graph.nodes[base].shape)); }
  bool wants(u32 base, Tiling tiling) const { return wanted_[base] >> u32(tiling) & 1; }
  Operand operand(u32 contraction, u32 side) const;

 private:
  void want(u32 base, Tiling tiling) { wanted_[base] |= u8(1u << u32(tiling)); }
  void want_default(u32 base) { want(base, default_tiling(a_.graph.nodes[base].shape)); }
  void place_fixed(u32 node);
  void place_elementwise(u32 node);
  struct Cost {
    size_t ops = 0, loads = 0;
  };
  bool recomputable(u32 base, const std::vector<u32>& chain, const Shape& seen, Cost& cost) const;

  const Analysis& a_;
  std::vector<u8> wanted_;
  std::vector<size_t> slots_;  // by cluster, with the loads that recomputation brings in
};

// The operations that may be done again rather than stored, in all readers together.
inline constexpr size_t kMaxRecomputed = 8;

}  // namespace baretile::compiler
