#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void bit_xor_int() {
  move<D, A>();
  bit_xor<D, B>();
}

}  // namespace baretile::kernel::sfpu
