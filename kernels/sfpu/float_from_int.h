#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// To nearest even. Zero stays zero.
template <u32 D, u32 A>
inline void float_from_int() {
  to_float<D, A>();
  only_where<D, Test::negative>();
  only_where_greater<D, kMinusOne>();  // -0: what became of -2^31
  load_bits<D, bits_of(-2147483648.0f)>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
