#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// -2^31 stays. D may be an operand. Zero stays zero.
template <u32 D, u32 A>
inline void abs_int() {
  issue<encode(SFPABS{.VD = D, .VC = A})>();
}

}  // namespace baretile::kernel::sfpu
