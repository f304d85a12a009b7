#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Exact. D may be an operand. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void minimum_int() {
  choose_integer<D, A, B, T, D, Test::not_negative>();
}

}  // namespace baretile::kernel::sfpu
