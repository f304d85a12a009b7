#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact, NaN too. D may be an operand.
template <u32 D, u32 A>
inline void neg() {
  negate<D, A>();
}

}  // namespace baretile::kernel::sfpu
