#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void less_int() {
  compare_integers<true, D, A, B, T>();
  one_where<D, Test::negative>();
}

}  // namespace baretile::kernel::sfpu
