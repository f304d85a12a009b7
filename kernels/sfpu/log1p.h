#pragma once
#include "log.h"

namespace baretile::kernel::sfpu {

// 1.5 ulp. The logarithm of U = 1 + A, rounded; what the rounding took away joins R. Zero stays zero.
template <u32 D, u32 A, u32 U, u32 R, u32 E, u32 C>
inline void log1p() {
  kernel::add<U, A, kOne>();
  subtract<C, U, kOne>();
  subtract<C, A, C>();
  split_exponent<U, R, E>();
  shift<D, E, 23>();
  subtract_integer_from<D, kOne>();
  only_where<C, Test::not_zero>();
  multiply_add<R, C, D, R>();
  all_lanes();
  log_of<D, R, E, C>();
  log_limits<D, U, C>();
}

}  // namespace baretile::kernel::sfpu
