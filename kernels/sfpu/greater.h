#pragma once
#include "less.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0, by IEEE. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void greater() {
  less<D, B, A>();
}

}  // namespace baretile::kernel::sfpu
