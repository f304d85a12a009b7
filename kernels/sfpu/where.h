#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// B where A is not zero, else C: the words as they are. Zero stays zero.
template <u32 D, u32 A, u32 B, u32 C>
inline void where() {
  move<D, B>();
  only_where<A, Test::zero>();
  move<D, C>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
