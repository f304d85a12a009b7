#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 3 ulp; 0 gives -inf, inf gives inf, negative values give NaN.
// x = 2^e m, m between sqrt(1/2) and sqrt(2); log m by a polynomial in r = m - 1.
template <u32 D, u32 A, u32 R, u32 E, u32 C>
inline void log() {
  load_bits<E, 0u - 0x3F3504F3>();
  add_integer<E, A>();
  shift_arithmetic<E, E, -23>();
  shift<R, E, 23>();
  subtract_integer_from<R, A>();
  subtract<R, R, kOne>();
  to_float<E>();
  load_bits<D, bits_of(7.0376836292e-2f)>();
  const auto term = []<u32 coefficient>() {
    load_bits<C, coefficient>();
    multiply_add<D, D, R, C>();
  };
  term.template operator()<bits_of(-1.1514610310e-1f)>();
  term.template operator()<bits_of(1.1676998740e-1f)>();
  term.template operator()<bits_of(-1.2420140846e-1f)>();
  term.template operator()<bits_of(1.4249322787e-1f)>();
  term.template operator()<bits_of(-1.6668057665e-1f)>();
  term.template operator()<bits_of(2.0000714765e-1f)>();
  term.template operator()<bits_of(-2.4999993993e-1f)>();
  term.template operator()<bits_of(3.3333331174e-1f)>();
  multiply<D, D, R>();
  multiply<C, R, R>();
  multiply<D, D, C>();
  scale<C, bits_of(-0.5f)>();
  kernel::add<D, D, C>();
  load_bits<C, bits_of(-2.12194440e-4f)>();
  multiply_add<D, E, C, D>();
  kernel::add<D, D, R>();
  load_bits<C, bits_of(0.693359375f)>();
  multiply_add<D, E, C, D>();
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

}  // namespace baretile::kernel::sfpu
