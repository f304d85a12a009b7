#pragma once
#include "not_equal.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0, by IEEE.
template <u32 D, u32 A, u32 B, u32 T, u32 S>
inline void equal() {
  differ<D, A, B, T, S>();
  one_where<D, Test::zero>();
}

}  // namespace baretile::kernel::sfpu
