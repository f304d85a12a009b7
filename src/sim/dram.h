// Memory that costs nothing until it is touched: anonymous mappings, and the chip's eight banks of DRAM made of them.
#pragma once
#include <array>
#include <cstddef>

#include "baretile/bits.h"

namespace baretile::sim {

class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  u8* data() const { return data_; }

 private:
  u8* data_ = nullptr;
  size_t bytes_ = 0;
};

inline constexpr u32 kDramBanks = 8;
inline constexpr u64 kDramBankBytes = u64{4} << 30;

class Dram {
 public:
  Dram();
  u8* at(u32 bank, u64 address, u64 bytes) const;  // a Fault outside the bank

 private:
  std::array<Mapping, kDramBanks> banks_;
};

}  // namespace baretile::sim
