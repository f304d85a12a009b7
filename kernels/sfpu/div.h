#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 0.7 ulp. Mantissas are divided as numbers between 1 and 2; the exponents join as three factors, none of which can
// overflow or vanish before the result does. Zeros, infinities and NaN of B show in B / B: there A (1 / B) is right.
template <u32 D, u32 A, u32 B, u32 T, u32 S, u32 E, u32 R>
inline void div() {
  set_exponent<T, B, 127>();
  issue<encode(SFPARECIP{.VD = R, .VC = T})>();
  set_exponent<E, A, 127>();
  quotient<D, E, T, R, S>();
  exponent_field<T, B, true>();
  shift_arithmetic<S, T, -1>();
  shift_arithmetic<E, T, -1>();
  subtract_integer_from<E, T>();
  shift<S, S, 23>();
  shift<E, E, 23>();
  subtract_integer_from<S, kOne>();  // 2^-floor(e / 2), 2^-ceil(e / 2)
  subtract_integer_from<E, kOne>();
  multiply<D, D, S>();
  clear_sign<R, A>();
  clear_mantissa<R, R>();
  multiply<D, D, R>();
  multiply<D, D, E>();
  issue<encode(SFPARECIP{.VD = T, .VC = B})>();
  multiply<S, T, B>();
  load_bits<E, kInfinity>();
  only_where_greater<S, E>();
  multiply<D, A, T>();
  all_lanes();
  kernel::add<T, A, B>();  // NaN also where both are infinite
  only_where_greater<T, E>();
  move<D, T>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
