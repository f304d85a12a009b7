#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Modulo 2^32. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void sub_int() {
  move<D, B>();
  subtract_integer_from<D, A>();
}

}  // namespace baretile::kernel::sfpu
