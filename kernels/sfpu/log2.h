#pragma once
#include "log.h"

namespace baretile::kernel::sfpu {

// 1.9 ulp, exact for powers of two; limits as in log.h.
template <u32 D, u32 A, u32 R, u32 E, u32 C>
inline void log2() {
  split_exponent<A, R, E>();
  log_less_argument<D, R, C>();
  to_float<E>();
  kernel::add<D, D, R>();
  load_bits<C, bits_of(1.44269504f)>();
  multiply_add<D, D, C, E>();
  log_limits<D, A, C>();
}

}  // namespace baretile::kernel::sfpu
