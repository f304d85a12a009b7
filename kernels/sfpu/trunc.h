#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Toward zero: bits below the point cleared; NaN and infinities stay. Zero stays zero.
template <u32 D, u32 A, u32 T>
inline void trunc() {
  exponent_field<T, A, true>();
  subtract_integer_from<T, kZero>();
  load_bits<D, 0xFF800000>();
  shift_by<D, T, true>();
  bit_and<D, A>();
  only_where_at_least<T, T, 1>();  // |A| < 1
  load_bits<D, 0>();
  all_lanes();
  exponent_field<T, A>();
  only_where_at_least<T, T, 150>();
  move<D, A>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
