#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void not_equal_int() {
  move<D, A>();
  bit_xor<D, B>();
  one_where<D, Test::not_zero>();
}

}  // namespace baretile::kernel::sfpu
