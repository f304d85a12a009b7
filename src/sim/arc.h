// The ARC controller as the host sees it: scratch registers, telemetry table and message queue (tt-kmd blackhole.c,
// telemetry.h).
#pragma once
#include <vector>

#include "baretile/bits.h"

namespace baretile::sim {

struct Harvest {
  u32 tensix_columns;  // telemetry tag 34: live columns, bit order of isa::kTensixHarvestOrder
  u32 dram_banks;      // tag 36: live banks
};

class Arc {
 public:
  explicit Arc(Harvest harvest);
  void read(u64 address, void* out, u32 bytes) const;
  void write(u64 address, const void* data, u32 bytes);

 private:
  u32 word(u32 address) const;
  void set_word(u32 address, u32 value);
  void answer_messages();

  std::vector<u8> csm_;
  u32 scratch_[16] = {};
};

}  // namespace baretile::sim
