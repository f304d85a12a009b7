#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.5 ulp; 0 gives inf with its sign, inf gives 0, |x| >= 2^126 gives 0.
// A 7-bit first guess and two Newton steps y (1 + (1 - x y)). Where x y is inf * 0 the guess already is the answer.
template <u32 D, u32 A, u32 T, u32 S>
inline void reciprocal() {
  issue<encode(SFPARECIP{.VD = D, .VC = A})>();
  multiply_add<T, A, D, kOne, true>();
  only_where_at_most<T, kOne>();
  kernel::add<T, T, kOne>();
  multiply<D, D, T>();
  multiply_add<T, A, D, kOne, true>();
  kernel::add<T, T, kOne>();
  multiply<D, D, T>();
  all_lanes();
  keep_nan<D, A, T, S>();
}

}  // namespace baretile::kernel::sfpu
