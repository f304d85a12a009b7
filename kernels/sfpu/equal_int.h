#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0.
template <u32 D, u32 A, u32 B>
inline void equal_int() {
  move<D, A>();
  bit_xor<D, B>();
  one_where<D, Test::zero>();
}

}  // namespace baretile::kernel::sfpu
