#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// For normal positive x: a first guess by bits, then y += y (1 - x y y) / 2 three times.
template <u32 D, u32 A, u32 T>
inline void rsqrt_of_normal() {
  shift<D, A, -1>();
  load_bits<T, 0x5F3759DF>();
  subtract_integer_from<D, T>();
  const auto step = [] {
    multiply<T, A, D>();
    multiply_add<T, T, D, kOne, true>();
    scale<T, bits_of(0.5f)>();
    multiply_add<D, D, T, D>();
  };
  step(), step(), step();
}
// D: what a root of A is where A is negative, zero (or denormal), or infinite.
template <u32 D, u32 A, u32 T, u32 at_zero, u32 at_infinity>
inline void root_limits() {
  only_where<A, Test::negative>();
  load_bits<D, kNaN>();
  all_lanes();
  exponent_field<T, A>();
  only_where<T, Test::zero>();
  load_bits<D, at_zero>();
  all_lanes();
  load_bits<T, kInfinity>();
  bit_xor<T, A>();
  only_where<T, Test::zero>();
  load_bits<D, at_infinity>();
  all_lanes();
}
// 1.2 ulp; 0 and -0 give inf, inf gives 0, negative values give NaN.
template <u32 D, u32 A, u32 T>
inline void rsqrt() {
  rsqrt_of_normal<D, A, T>();
  root_limits<D, A, T, kInfinity, 0>();
}

}  // namespace baretile::kernel::sfpu
