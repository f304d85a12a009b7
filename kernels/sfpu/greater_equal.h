#pragma once
#include "less_equal.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0, by IEEE.
template <u32 D, u32 A, u32 B, u32 T, u32 S>
inline void greater_equal() {
  less_equal<D, B, A, T, S>();
}

}  // namespace baretile::kernel::sfpu
