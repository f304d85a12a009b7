#pragma once
#include "less_uint.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T>
inline void greater_uint() {
  less_uint<D, B, A, T>();
}

}  // namespace baretile::kernel::sfpu
