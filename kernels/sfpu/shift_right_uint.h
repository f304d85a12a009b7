#pragma once
#include "shift_right_int.h"

namespace baretile::kernel::sfpu {

// Counts above 31 give 0. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void shift_right_uint() {
  shift_right<D, A, B, T, false>();
}

}  // namespace baretile::kernel::sfpu
