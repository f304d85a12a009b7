#pragma once
#include "round.h"

namespace baretile::kernel::sfpu {

// As round.h. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void floor() {
  round<D, A, T, S>();
  subtract<T, A, D>();
  shift_arithmetic<T, T, -31>();  // where that was too much
  bit_and<T, kMinusOne>();
  kernel::add<D, D, T>();
}

}  // namespace baretile::kernel::sfpu
