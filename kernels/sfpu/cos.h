#pragma once
#include "sin.h"

namespace baretile::kernel::sfpu {

// As sin.h.
template <u32 D, u32 A, u32 N, u32 R, u32 Z, u32 C>
inline void cos() {
  sine<true, D, A, N, R, Z, C>();
}

}  // namespace baretile::kernel::sfpu
