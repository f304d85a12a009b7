#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Counts outside 0 … 31 shift everything out.
template <u32 D, u32 A, u32 B, u32 T, bool arithmetic>
inline void shift_right() {
  move<T, B>();
  subtract_integer_from<T, kZero>();
  move<D, A>();
  shift_by<D, T, arithmetic>();
  shift<T, B, -5>();
  only_where<T, Test::not_zero>();
  if constexpr (arithmetic) {
    shift_arithmetic<D, A, -31>();
  } else {
    load_bits<D, 0>();
  }
  all_lanes();
}
// Counts outside 0 … 31 give the sign. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void shift_right_int() {
  shift_right<D, A, B, T, true>();
}

}  // namespace baretile::kernel::sfpu
