#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact; in the total order -NaN < -inf < … < -0 < +0 < … < inf < NaN.
template <u32 D, u32 A, u32 B, u32 T>
inline void minimum() {
  move<D, A>();
  move<T, B>();
  swap_min<D, T>();
}

}  // namespace baretile::kernel::sfpu
