#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact; -0 gives 0, NaN stays. D may be an operand. Zero stays zero.
template <u32 D, u32 A>
inline void relu() {
  kernel::add<D, A, kZero>();  // a NaN becomes positive
  nop();
  swap_max<D, kZero>();
}

}  // namespace baretile::kernel::sfpu
