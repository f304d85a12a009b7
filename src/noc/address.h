// Interleaved DRAM: the pages of a buffer go round the banks in runs.
#pragma once
#include "baretile/abi.h"
#include "baretile/chip.h"

namespace baretile::noc {

// A buffer over all banks of a chip; `base` is the same address in every bank.
struct Interleaved {
  u64 base = 0;
  u32 page_bytes = 0;
  u32 pages = 0;
  u32 run = abi::kRunPages;
  u64 bytes() const { return u64{page_bytes} * pages; }
  // What the buffer takes in each bank.
  u64 bank_bytes(u32 banks) const { return abi::pages_in_bank(pages, banks, run) * page_bytes; }
};

struct DramAddress {
  u32 bank = 0;
  u64 addr = 0;
  friend bool operator==(const DramAddress&, const DramAddress&) = default;
};

constexpr DramAddress page_address(const Interleaved& buffer, u32 page, u32 banks) {
  const u32 run = page / buffer.run;
  return {run % banks, buffer.base + (u64{run / banks} * buffer.run + page % buffer.run) * buffer.page_bytes};
}

}  // namespace baretile::noc
