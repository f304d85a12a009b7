#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0. Zero stays zero.
template <u32 D, u32 A, u32 T>
inline void isnan() {
  kernel::add<D, A, kZero>();
  load_bits<T, kInfinity>();
  mask_greater<D, T>();
  bit_and<D, kOne>();
}

}  // namespace baretile::kernel::sfpu
