#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 0.5 ulp. D may be an operand. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void mul() {
  multiply<D, A, B>();
}

}  // namespace baretile::kernel::sfpu
