#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// Modulo 2^32. With a = 2^23 ah + al and b alike: al bl + 2^23 (ah b + bh a). Zero stays zero.
template <u32 D, u32 A, u32 B, u32 T, u32 S>
inline void mul_int() {
  shift<T, A, -23>();
  multiply_integers<T, T, B, false>();
  shift<S, B, -23>();
  multiply_integers<S, S, A, false>();
  multiply_integers<D, A, B, true>();
  add_integer<T, S>();
  add_integer<D, T>();
  shift<D, D, 23>();
  multiply_integers<T, A, B, false>();
  add_integer<D, T>();
}

}  // namespace baretile::kernel::sfpu
