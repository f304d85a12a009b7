// Fixed-width integers and bit fields, freestanding: the same header serves the host, the simulator and code on the chip.
#pragma once
#include <stdint.h>

namespace baretile {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

// `width` low bits set; width 0 … 32.
constexpr u32 mask_bits(u32 width) { return width >= 32 ? 0xFFFFFFFFu : (1u << width) - 1; }
constexpr u32 extract(u32 word, u32 lo, u32 width) { return (word >> lo) & mask_bits(width); }
constexpr u64 round_up(u64 value, u64 unit) { return (value + unit - 1) / unit * unit; }
constexpr u64 ceil_div(u64 value, u64 unit) { return (value + unit - 1) / unit; }

}  // namespace baretile
