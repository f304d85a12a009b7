#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// The value itself. D may be an operand. Zero stays zero.
template <u32 D, u32 A>
inline void relu_uint() {
  move<D, A>();
}

}  // namespace baretile::kernel::sfpu
