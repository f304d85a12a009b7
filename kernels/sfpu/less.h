#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 1.0 or 0, by IEEE. A + 0 has no -0, and the difference keeps its sign when it is flushed. Zero stays zero.
template <u32 D, u32 A, u32 B>
inline void less() {
  kernel::add<D, A, kZero>();
  subtract<D, D, B>();
  one_where<D, Test::negative>();
}

}  // namespace baretile::kernel::sfpu
