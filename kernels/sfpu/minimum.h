#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact; a NaN of either gives NaN, -0 is 0. Minus the maximum of both turned over.
// D may be an operand. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void minimum() {
  subtract<T, kZero, B>();
  subtract<D, kZero, A>();
  nop();
  swap_max<D, T>();
  subtract<D, kZero, D>();
}

}  // namespace baretile::kernel::sfpu
