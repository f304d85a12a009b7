#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// A = 2^E (1 + R), 1 + R between sqrt(1/2) and sqrt(2); E is an integer.
template <u32 A, u32 R, u32 E>
inline void split_exponent() {
  load_bits<E, 0u - 0x3F3504F3>();
  add_integer<E, A>();
  shift_arithmetic<E, E, -23>();
  shift<R, E, 23>();
  subtract_integer_from<R, A>();
  subtract<R, R, kOne>();
}
// D = log(1 + R) - R = -R^2 / 2 + R^3 P(R), minimax to 2^-28.4 of log(1 + R).
template <u32 D, u32 R, u32 C>
inline void log_less_argument() {
  polynomial<D, R, C, bits_of(6.7382812500e-2f), bits_of(-1.1669921875e-1f), bits_of(1.1865234375e-1f),
             bits_of(-1.2402343750e-1f), bits_of(1.4225985110e-1f), bits_of(-1.6668891907e-1f),
             bits_of(2.0001633465e-1f), bits_of(-2.4999967217e-1f), bits_of(3.3333322406e-1f)>();
  multiply<D, D, R>();
  multiply<C, R, R>();
  multiply<D, D, C>();
  scale<C, bits_of(-0.5f)>();
  kernel::add<D, D, C>();
}
// D = log(1 + R) + E ln 2; E becomes a float.
template <u32 D, u32 R, u32 E, u32 C>
inline void log_of() {
  log_less_argument<D, R, C>();
  to_float<E>();
  load_bits<C, bits_of(-2.12194440e-4f)>();
  multiply_add<D, E, C, D>();
  kernel::add<D, D, R>();
  load_bits<C, bits_of(0.693359375f)>();
  multiply_add<D, E, C, D>();
}
// D: the logarithm of A where it is infinite, NaN, negative or zero.
template <u32 D, u32 A, u32 C>
inline void log_limits() {
  exponent_field<C, A>();
  only_where_at_least<C, C, 255>();
  move<D, A>();
  all_lanes();
  only_where<A, Test::negative>();
  load_bits<D, kNaN>();
  all_lanes();
  exponent_field<C, A>();
  only_where<C, Test::zero>();
  load_bits<D, 0xFF800000>();
  all_lanes();
}
// 1 ulp; 0 gives -inf, inf gives inf, negative values give NaN.
// A = 2^E (1 + R), 1 + R between sqrt(1/2) and sqrt(2).
template <u32 D, u32 A, u32 R, u32 E, u32 C>
inline void log() {
  split_exponent<A, R, E>();
  log_of<D, R, E, C>();
  log_limits<D, A, C>();
}

}  // namespace baretile::kernel::sfpu
