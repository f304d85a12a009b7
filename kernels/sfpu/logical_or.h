#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// (1 - A) B + A. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void logical_or() {
  subtract<D, kOne, A>();
  multiply_add<D, D, B, A>();
}

}  // namespace baretile::kernel::sfpu
