#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Modulo 2^32. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void add_int() {
  move<D, A>();
  add_integer<D, B>();
}

}  // namespace baretile::kernel::sfpu
