#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0. Zero stays zero.
template <u32 D, u32 A, u32 T>
inline void isinf() {
  clear_sign<D, A>();
  load_bits<T, kInfinity>();
  bit_xor<D, T>();
  one_where<D, Test::zero>();
}

}  // namespace baretile::kernel::sfpu
