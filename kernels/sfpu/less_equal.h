#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0, by IEEE: A <= B in the total order of canonical values, and B no NaN.
template <u32 D, u32 A, u32 B, u32 T, u32 S>
inline void less_equal() {
  kernel::add<T, A, kZero>();
  kernel::add<D, B, kZero>();
  load_bits<S, kInfinity>();
  mask_at_most<T, D>();
  mask_at_most<D, S>();
  bit_and<D, T>();
  bit_and<D, kOne>();
}

}  // namespace baretile::kernel::sfpu
