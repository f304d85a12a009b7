// The NoC as a tile's NIU sees it: four request initiators and the counters (NoC/MemoryMap.md, Counters.md). A request
// is carried out in full when it is issued, as on ttsim.
#pragma once
#include <array>

#include "baretile/isa/noc.h"

namespace baretile::sim {

class Chip;
class Tile;

struct NocXY {
  u32 x, y;
};

class Niu {
 public:
  Niu(u32 noc, NocXY raw, NocXY translated) : noc_(noc), raw_(raw), translated_(translated) {}

  u32 read(u32 offset) const;
  void write(Chip& chip, Tile& tile, u32 offset, u32 value);
  // Whether a write there issues a request that reaches more than the tile itself and DRAM.
  bool leaves_tile(const Chip& chip, const Tile& tile, u32 offset) const;

 private:
  static constexpr u32 kRegisters = isa::kNiuCmd / 4;
  struct Request {
    u64 targ, ret;
    u32 targ_xy, ret_xy, id, ctrl, length, data;
  };

  Request request(u32 initiator) const;
  void check(const Request& r) const;
  void issue(Chip& chip, Tile& tile, const Request& r);
  void read_remote(Chip& chip, Tile& tile, const Request& r);
  void write_remote(Chip& chip, Tile& tile, const Request& r);
  void write_inline(Chip& chip, const Request& r);
  void multicast(Chip& chip, Tile& tile, const Request& r);
  void atomic(Chip& chip, Tile& tile, const Request& r);
  u32& counter(u32 offset) { return counters_[(offset - isa::kNiuAtomicAcks) / 4]; }
  void count_write(const Request& r, u32 acks);

  u32 noc_;
  NocXY raw_, translated_;
  std::array<std::array<u32, kRegisters>, isa::kNiuCommandBuffers> regs_{};
  std::array<u32, 16> counters_{};
  std::array<u8, 16> outstanding_{};
};

// Value of NODE_ID for a tile at raw NoC 0 coordinates.
u32 node_id(u32 noc, NocXY raw);

}  // namespace baretile::sim
