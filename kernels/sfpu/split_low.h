#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// What split_high (B) leaves of the value (A), rounded to 7 significant bits. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void split_low() {
  subtract<D, A, B>();
  load_bits<T, 0x00010000>();
  add_integer<D, T>();
  load_bits<T, 0xFFFE0000>();
  bit_and<D, T>();
}

}  // namespace baretile::kernel::sfpu
