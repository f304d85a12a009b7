#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact; -0 gives 0, NaN stays. D may be an operand.
template <u32 D, u32 A>
inline void relu() {
  move<D, A>();
  swap_max<D, kZero>();
}

}  // namespace baretile::kernel::sfpu
