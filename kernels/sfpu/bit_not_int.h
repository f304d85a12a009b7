#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact. D may be an operand.
template <u32 D, u32 A>
inline void bit_not_int() {
  bit_not<D, A>();
}

}  // namespace baretile::kernel::sfpu
