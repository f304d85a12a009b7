#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 2 ulp; above 88.7228 inf, below -87.3365 zero.
// x = n ln 2 + r, n an integer, |r| <= ln 2 / 2; exp(r) by a polynomial of degree 7, n added to its exponent.
template <u32 D, u32 A, u32 N, u32 R, u32 C>
inline void exp() {
  load_bits<R, bits_of(1.44269504f)>();
  load_bits<C, bits_of(12582912.0f)>();  // 1.5 * 2^23: adding it leaves round(x / ln 2) in the low bits
  multiply_add<N, A, R, C>();
  subtract<D, N, C>();
  load_bits<C, bits_of(-0.693359375f)>();
  multiply_add<R, D, C, A>();
  load_bits<C, bits_of(2.12194440e-4f)>();
  multiply_add<R, D, C, R>();
  load_bits<D, bits_of(1.9875691500e-4f)>();
  const auto term = []<u32 coefficient>() {
    load_bits<C, coefficient>();
    multiply_add<D, D, R, C>();
  };
  term.template operator()<bits_of(1.3981999507e-3f)>();
  term.template operator()<bits_of(8.3334519073e-3f)>();
  term.template operator()<bits_of(4.1665795894e-2f)>();
  term.template operator()<bits_of(1.6666665459e-1f)>();
  term.template operator()<bits_of(5.0000001201e-1f)>();
  multiply<C, R, R>();
  multiply_add<D, D, C, R>();
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
