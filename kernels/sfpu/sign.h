#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// -1, 0 or 1; NaN stays, -0 gives 0. Zero stays zero.
template <u32 D, u32 A, u32 T>
inline void sign() {
  kernel::add<D, A, kZero>();
  load_bits<T, kInfinity>();
  only_where<D, Test::not_zero>();
  only_where_at_most<D, T>();
  set_exponent<D, D, 127>();
  clear_mantissa<D, D>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
