#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact. Zero stays zero.
template <u32 D, u32 A>
inline void relu_int() {
  shift_arithmetic<D, A, -31>();
  bit_not<D, D>();
  bit_and<D, A>();
}

}  // namespace baretile::kernel::sfpu
