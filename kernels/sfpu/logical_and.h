#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// A B. D may be an operand. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void logical_and() {
  multiply<D, A, B>();
}

}  // namespace baretile::kernel::sfpu
