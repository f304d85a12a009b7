#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0.
template <u32 D, u32 A, u32 B, u32 T>
inline void greater_equal_int() {
  compare_integers<true, D, A, B, T>();
  one_where<D, Test::not_negative>();
}

}  // namespace baretile::kernel::sfpu
