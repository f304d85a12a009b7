#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// A = n ln 2 + R, n an integer in the low bits of N, |R| <= ln 2 / 2.
template <u32 D, u32 A, u32 N, u32 R, u32 C>
inline void split_by_ln2() {
  load_bits<R, bits_of(1.44269504f)>();
  load_bits<C, bits_of(12582912.0f)>();  // 1.5 * 2^23: adding it leaves round(x / ln 2) in the low bits
  multiply_add<N, A, R, C>();
  subtract<D, N, C>();
  load_bits<C, bits_of(0.69140625f)>();
  multiply_add<R, D, C, A, true>();
  load_bits<C, bits_of(1.74093060e-3f)>();
  multiply_add<R, D, C, R, true>();
}
// D = exp(R) - 1 for such an R: R + R^2 P(R), minimax to 2^-28.9 of it.
template <u32 D, u32 R, u32 C>
inline void exp_minus_one() {
  polynomial<D, R, C, bits_of(1.9836425781e-4f), bits_of(1.3961791992e-3f), bits_of(8.3334790543e-3f),
             bits_of(4.1666194797e-2f), bits_of(1.6666665673e-1f), bits_of(0.5f)>();
  multiply<C, R, R>();
  multiply_add<D, D, C, R>();
}
// 1.1 ulp; above 88.7228 inf, below -87.3365 zero.
template <u32 D, u32 A, u32 N, u32 R, u32 C>
inline void exp() {
  split_by_ln2<D, A, N, R, C>();
  exp_minus_one<D, R, C>();
  kernel::add<D, D, kOne>();
  shift<N, N, 23>();
  add_integer<D, N>();
  load_bits<C, bits_of(88.7228317f)>();
  subtract<C, C, A>();
  only_where<C, Test::negative>();
  load_bits<D, kInfinity>();
  all_lanes();
  load_bits<C, bits_of(87.3365402f)>();
  kernel::add<C, C, A>();
  only_where<C, Test::negative>();
  load_bits<D, 0>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
