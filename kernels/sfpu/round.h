#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// To the nearest integer, ties to even; from 2^23 on, infinities and NaN as they are. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void round() {
  move<D, A>();
  load_bits<S, bits_of(8388608.0f)>();
  take_magnitude<D, S>();
  kernel::add<T, A, D>();
  subtract<T, T, D>();
  take_magnitude<D, T>();
  exponent_field<S, A>();
  only_where_at_least<S, S, 150>();
  move<D, A>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
