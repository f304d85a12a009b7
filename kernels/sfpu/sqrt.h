#pragma once
#include "rsqrt.h"

namespace baretile::kernel::sfpu {

// 1.8 ulp; 0 and -0 give 0, inf gives inf, negative values give NaN.
// s = x y with y near 1 / sqrt(x), then s += (x - s s) y / 2. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void sqrt() {
  rsqrt_of_normal<D, A, T>();
  multiply<S, A, D>();
  multiply_add<T, S, S, A, true>();
  multiply<T, T, D>();
  scale<T, bits_of(0.5f)>();
  kernel::add<D, S, T>();
  root_limits<D, A, T, 0, kInfinity>();
}

}  // namespace baretile::kernel::sfpu
