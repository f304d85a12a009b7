#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1 - A. D may be an operand.
template <u32 D, u32 A>
inline void logical_not() {
  subtract<D, kOne, A>();
}

}  // namespace baretile::kernel::sfpu
