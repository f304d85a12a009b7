// Interleaved DRAM: page p of a buffer lies in bank p % banks at base + (p / banks) * page_bytes.
#pragma once
#include "baretile/chip.h"

namespace baretile::noc {

// A buffer over all banks of a chip; `base` is the same address in every bank.
struct Interleaved {
  u64 base = 0;
  u32 page_bytes = 0;
  u32 pages = 0;
  u64 bytes() const { return u64{page_bytes} * pages; }
  // What the buffer takes in each bank.
  u64 bank_bytes(u32 banks) const { return ceil_div(pages, banks) * page_bytes; }
};

struct DramAddress {
  u32 bank = 0;
  u64 addr = 0;
  friend bool operator==(const DramAddress&, const DramAddress&) = default;
};

constexpr DramAddress page_address(const Interleaved& buffer, u32 page, u32 banks) {
  return {page % banks, buffer.base + u64{page / banks} * buffer.page_bytes};
}

}  // namespace baretile::noc
