#pragma once
#include "int_from_float.h"

namespace baretile::kernel::sfpu {

// Toward zero; beyond the range its end, NaN gives 0. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void uint_from_float() {
  truncate<D, A, T>();
  only_where_at_least<T, T, 32>();
  bit_not<D, kZero>();
  all_lanes();
  only_where<A, Test::negative>();
  load_bits<D, 0>();
  all_lanes();
  zero_where_nan<D, A, T, S>();
}

}  // namespace baretile::kernel::sfpu
