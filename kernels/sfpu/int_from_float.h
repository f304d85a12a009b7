#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// D = |A| toward zero, if it is below 2^32; T = the exponent of A.
template <u32 D, u32 A, u32 T>
inline void truncate() {
  move<D, kZero>();
  only_where_exponent_not_negative<T, A>();
  issue<encode(SFPEXMAN{.VD = D, .VC = A})>();
  add_constant<T, T, -23>();
  shift_by<D, T>();
  all_lanes();
  exponent_field<T, A, true>();
}
template <u32 D, u32 A, u32 T, u32 S>
inline void zero_where_nan() {
  kernel::add<T, A, kZero>();
  load_bits<S, kInfinity>();
  mask_at_most<T, S>();
  bit_and<D, T>();
}
// Toward zero; beyond the range its end, NaN gives 0. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void int_from_float() {
  truncate<D, A, T>();
  only_where<A, Test::negative>();
  subtract_integer_from<D, kZero>();
  all_lanes();
  only_where_at_least<T, T, 31>();
  load_bits<D, 0x7FFFFFFF>();
  only_where<A, Test::negative>();
  bit_not<D, D>();
  all_lanes();
  zero_where_nan<D, A, T, S>();
}

}  // namespace baretile::kernel::sfpu
