#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// D: no bits where A equals B.
template <u32 D, u32 A, u32 B, u32 T, u32 S>
inline void differ() {
  kernel::add<D, A, kZero>();
  kernel::add<T, B, kZero>();
  load_bits<S, kInfinity>();
  bit_xor<D, T>();
  mask_greater<T, S>();
  bit_or<D, T>();
}
// 1.0 or 0, by IEEE. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T, u32 S>
inline void not_equal() {
  differ<D, A, B, T, S>();
  one_where<D, Test::not_zero>();
}

}  // namespace baretile::kernel::sfpu
