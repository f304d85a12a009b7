#pragma once
#include "exp.h"
#include "log.h"

namespace baretile::kernel::sfpu {

// D: the upper twelve bits of A's significand, so that the product of two such is exact; C: the rest.
template <u32 D, u32 A, u32 C>
inline void split_in_two() {
  load_bits<C, 0xFFFFF000>();
  move<D, A>();
  bit_and<D, C>();
  subtract<C, A, D>();
}
// In some lanes, then all: 1 + R times a factor, exactly, and minus the factor's logarithm in two parts: to base 2 into
// E, to base e into S.
template <u32 R, u32 E, u32 S, u32 T, u32 C, u32 factor, u32 factor_less_one, u32 to_e, u32 to_s>
inline void scale_argument() {
  load_bits<C, factor>();
  load_bits<T, factor_less_one>();
  multiply_add<R, R, C, T>();
  increase<E, to_e>();
  load_bits<S, to_s>();
  all_lanes();
}
// T + D = log2 |A|, D at most half a unit of T; T is -inf for 0 and inf for inf. 1 + R, between sqrt(1/2) and sqrt(2),
// is brought closer to 1; then R - R^2 / 2 in two parts and R^3 P(R), P minimax to 2^-31.8 of log(1 + R).
template <u32 D, u32 A, u32 T, u32 S, u32 R, u32 E, u32 C>
inline void log2_in_two() {
  clear_sign<D, A>();
  split_exponent<D, R, E>();
  to_float<E>();
  move<S, kZero>();
  load_bits<C, bits_of(0.1875f)>();
  only_where_greater<R, C>();
  scale_argument<R, E, S, T, C, bits_of(0.75f), bits_of(-0.25f), bits_of(0.4140625f), bits_of(6.75818001e-4f)>();
  load_bits<C, bits_of(-0.15625f)>();
  only_where_greater<C, R>();
  scale_argument<R, E, S, T, C, bits_of(1.25f), bits_of(0.25f), bits_of(-0.322265625f), bits_of(2.33958046e-4f)>();
  polynomial<D, R, T, bits_of(1.0351562500e-1f), bits_of(-1.3085937500e-1f), bits_of(1.4355468750e-1f),
             bits_of(-1.6657023132e-1f), bits_of(1.9998604059e-1f), bits_of(-2.5000041723e-1f),
             bits_of(3.3333340287e-1f)>();
  multiply<D, D, R>();
  multiply<T, R, R>();
  multiply_add<D, D, T, S>();
  split_in_two<S, R, C>();
  kernel::add<T, R, S>();
  multiply<C, C, T>();
  scale<C, bits_of(-0.5f)>();
  kernel::add<D, D, C>();
  multiply<S, S, S>();
  scale<S, bits_of(-0.5f)>();
  kernel::add<T, R, S>();  // R - S^2 / 2, and what is lost by rounding it
  subtract<C, R, T>();
  kernel::add<C, C, S>();
  kernel::add<D, D, C>();
  split_in_two<S, T, C>();  // times log2(e)
  kernel::add<D, D, C>();
  load_bits<C, bits_of(1.44269504f)>();
  multiply<D, D, C>();
  load_bits<C, bits_of(3.12228389e-4f)>();
  multiply_add<D, S, C, D>();
  load_bits<C, bits_of(1.44238281f)>();
  multiply<S, S, C>();
  kernel::add<C, E, S>();
  subtract<T, E, C>();
  kernel::add<S, T, S>();
  kernel::add<D, D, S>();
  kernel::add<T, C, D>();
  subtract<C, C, T>();
  kernel::add<D, D, C>();
  exponent_field<C, A>();
  only_where<C, Test::zero>();
  load_bits<T, 0xFF800000>();
  all_lanes();
  only_where_at_least<C, C, 255>();
  load_bits<T, kInfinity>();
  all_lanes();
}
// D = 2^(B (T + D)); T = T B.
template <u32 D, u32 B, u32 T, u32 S, u32 R, u32 E, u32 C>
inline void exp2_of_product() {
  split_in_two<S, T, C>();
  kernel::add<D, D, C>();
  multiply<T, T, B>();
  multiply<D, D, B>();
  split_in_two<R, B, C>();
  multiply_add<D, S, C, D>();
  multiply<S, S, R>();
  kernel::add<E, S, D>();
  load_bits<C, bits_of(12582912.0f)>();
  kernel::add<E, E, C>();  // leaves the nearest integer in the low bits
  subtract<C, E, C>();
  subtract<S, S, C>();
  kernel::add<R, S, D>();
  load_bits<C, bits_of(0.693147181f)>();
  multiply<R, R, C>();
  exp_minus_one<D, R, C>();
  kernel::add<D, D, kOne>();
  shift<E, E, 10>();
  shift_arithmetic<E, E, -10>();
  exponent_field<C, D>();
  add_integer<C, E>();
  shift<E, E, 23>();
  add_integer<D, E>();
  only_where_at_least<E, C, 255>();
  load_bits<D, kInfinity>();
  all_lanes();
  only_where_below<E, C, 1>();
  load_bits<D, 0>();
  all_lanes();
  exponent_field<C, T>();  // beyond 2^8, where that integer may not have fitted
  only_where_at_least<C, C, 127 + 8>();
  load_bits<D, 0>();
  only_where<T, Test::not_negative>();
  load_bits<D, kInfinity>();
  all_lanes();
}
// D, |A|^B so far, for a negative A: its sign if B is odd, NaN if B is no integer and A neither 0 nor infinite.
template <u32 D, u32 A, u32 B, u32 T, u32 S, u32 R>
inline void power_of_negative() {
  move<S, kZero>();
  only_where<A, Test::negative>();
  load_integer<S, 1>();
  only_where_exponent_not_negative<T, B>();
  issue<encode(SFPEXMAN{.VD = S, .VC = B})>();
  add_constant<T, T, 8>();
  shift_by<S, T>();  // the last bit before the point to the top
  only_where_at_least<T, T, 32>();
  load_bits<S, 0>();
  all_lanes();
  shift<R, S, 1>();
  only_where<R, Test::zero>();
  shift<T, S, -31>();
  shift<T, T, 31>();
  bit_xor<D, T>();
  other_lanes();
  exponent_field<T, A>();
  only_where_at_least<R, T, 1>();
  only_where_below<R, T, 255>();
  load_bits<D, kNaN>();
  all_lanes();
}
// 4.3 ulp; special cases as C's pow. log2 |A| times B in two parts each, so that only the exponential adds to the
// error.
template <u32 D, u32 A, u32 B, u32 T, u32 S, u32 R, u32 E, u32 G>
inline void pow() {
  log2_in_two<D, A, T, S, R, E, G>();
  exp2_of_product<D, B, T, S, R, E, G>();
  load_bits<S, kInfinity>();
  only_where_greater<T, S>();  // 0 times infinity
  move<D, kOne>();
  all_lanes();
  power_of_negative<D, A, B, T, S, R>();
  clear_sign<T, A>();
  clear_sign<R, B>();
  swap_max<T, R>();
  load_bits<S, kInfinity>();
  only_where_greater<T, S>();
  load_bits<D, kNaN>();
  all_lanes();
  exponent_field<T, B>();
  only_where<T, Test::zero>();
  move<D, kOne>();
  all_lanes();
  move<T, A>();
  bit_xor<T, kOne>();
  only_where<T, Test::zero>();
  move<D, kOne>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
