#pragma once
#include "round.h"

namespace baretile::kernel::sfpu {

// As round.h. Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S>
inline void ceil() {
  round<D, A, T, S>();
  subtract<T, D, A>();
  shift_arithmetic<T, T, -31>();  // where that was too little
  bit_and<T, kOne>();
  kernel::add<D, D, T>();
}

}  // namespace baretile::kernel::sfpu
