#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// To nearest even: 2^16 times the upper half plus the lower, rounded once. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void float_from_uint() {
  shift<D, A, -16>();
  magnitude_to_float<D, D>();
  shift<T, A, 16>();
  shift<T, T, -16>();
  magnitude_to_float<T, T>();
  load_bits<S, bits_of(65536.0f)>();
  multiply_add<D, D, S, T>();
}

}  // namespace baretile::kernel::sfpu
