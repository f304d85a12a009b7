#pragma once
#include "exp.h"

namespace baretile::kernel::sfpu {

// 2.5 ulp. t / (t + 2) with t = expm1(-2 |x|), divided as in div.h. Zero stays zero.
template <u32 D, u32 A, u32 X, u32 N, u32 R, u32 C>
inline void tanh() {
  clear_sign<X, A>();
  scale<X, bits_of(-2.0f)>();
  load_bits<C, bits_of(-20.0f)>();
  swap_max<X, C>();  // a NaN is above
  split_by_ln2<D, X, N, R, C>();
  exp_minus_one<D, R, C>();
  shift<N, N, 23>();
  add_integer<N, kOne>();
  subtract<C, N, kOne>();
  multiply_add<R, D, N, C>();
  move<N, R>();
  increase<N, bits_of(2.0f)>();
  issue<encode(SFPARECIP{.VD = C, .VC = N})>();
  quotient<X, R, N, C, D>();
  move<D, A>();
  swap_max<X, kMinusOne>();
  take_magnitude<D, X>();
}

}  // namespace baretile::kernel::sfpu
