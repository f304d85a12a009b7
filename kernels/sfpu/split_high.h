#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// The value rounded to 7 significant bits, ties away from zero: what the matrix unit takes of SrcB in its first two
// phases. Zero stays zero.
template <u32 D, u32 A, u32 T>
inline void split_high() {
  load_bits<D, 0x00010000>();
  add_integer<D, A>();
  load_bits<T, 0xFFFE0000>();
  bit_and<D, T>();
}

}  // namespace baretile::kernel::sfpu
