#pragma once
#include "greater_equal_uint.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0.
template <u32 D, u32 A, u32 B, u32 T>
inline void less_equal_uint() {
  greater_equal_uint<D, B, A, T>();
}

}  // namespace baretile::kernel::sfpu
