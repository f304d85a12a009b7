#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// A = k pi + R, k an integer (for the cosine, an integer less a half), |R| <= pi / 2: sin(R) with the sign of (-1)^k.
// pi in five parts of eight bits, whose products with k are exact, and a rest; sin(R) = R + R^3 P(R^2), to 2^-26.9.
template <bool cosine, u32 D, u32 A, u32 N, u32 R, u32 Z, u32 C>
inline void sine() {
  load_bits<C, bits_of(0.318309886f)>();
  multiply<N, A, C>();
  if constexpr (cosine) increase<N, bits_of(0.5f)>();
  increase<N, bits_of(12582912.0f)>();  // leaves k in the low bits
  move<D, N>();
  increase<D, bits_of(-12582912.0f)>();
  if constexpr (cosine) increase<D, bits_of(-0.5f)>();
  const auto reduce = []<u32 part, u32 from>() {
    load_bits<C, part>();
    multiply_add<R, D, C, from, true>();
  };
  reduce.template operator()<bits_of(3.140625000e+00f), A>();
  reduce.template operator()<bits_of(9.689331055e-04f), R>();
  reduce.template operator()<bits_of(-1.281499863e-06f), R>();
  reduce.template operator()<bits_of(1.979060471e-09f), R>();
  reduce.template operator()<bits_of(5.115907697e-12f), R>();
  reduce.template operator()<bits_of(1.078060591e-14f), R>();
  multiply<Z, R, R>();
  polynomial<D, Z, C, bits_of(2.6077032089e-6f), bits_of(-1.9810930826e-4f), bits_of(8.3330934867e-3f),
             bits_of(-1.6666661203e-1f)>();
  multiply<D, D, Z>();
  multiply_add<D, D, R, R>();
  shift<N, N, 31>();
  swap_min<D, kOne>();
  swap_max<D, kMinusOne>();
  bit_xor<D, N>();
  exponent_field<C, A>();
  only_where_at_least<C, C, 127 + 18>();
  load_bits<D, kNaN>();
  all_lanes();
}
// 3.4 ulp; from |x| = 2^18 on NaN. Zero stays zero.
template <u32 D, u32 A, u32 N, u32 R, u32 Z, u32 C>
inline void sin() {
  sine<false, D, A, N, R, Z, C>();
}

}  // namespace baretile::kernel::sfpu
