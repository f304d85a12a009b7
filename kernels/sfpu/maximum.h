#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact; a NaN of either gives NaN, -0 is 0. D may be an operand. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void maximum() {
  kernel::add<T, B, kZero>();  // makes a NaN positive, and so the largest
  kernel::add<D, A, kZero>();
  nop();
  swap_max<D, T>();
}

}  // namespace baretile::kernel::sfpu
