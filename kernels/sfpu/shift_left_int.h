#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Counts outside 0 … 31 give 0. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void shift_left_int() {
  move<D, A>();
  shift_by<D, B>();
  shift<T, B, -5>();
  only_where<T, Test::not_zero>();
  load_bits<D, 0>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
