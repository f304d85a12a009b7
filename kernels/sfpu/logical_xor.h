#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// (A - B)^2. D may be an operand. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void logical_xor() {
  subtract<D, A, B>();
  multiply<D, D, D>();
}

}  // namespace baretile::kernel::sfpu
