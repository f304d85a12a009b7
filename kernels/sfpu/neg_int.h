#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Modulo 2^32. Zero stays zero.
template <u32 D, u32 A>
inline void neg_int() {
  move<D, A>();
  subtract_integer_from<D, kZero>();
}

}  // namespace baretile::kernel::sfpu
