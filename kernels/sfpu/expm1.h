#pragma once
#include "exp.h"

namespace baretile::kernel::sfpu {

// 1.5 ulp. 2^(n-1) (2 exp_minus_one(R) + 1) + 2^(n-1) - 1, so that n may be 128; below -17.5 -1. Zero stays zero.
template <u32 D, u32 A, u32 N, u32 R, u32 C>
inline void expm1() {
  split_by_ln2<D, A, N, R, C>();
  exp_minus_one<D, R, C>();
  kernel::add<D, D, D>();
  load_bits<C, bits_of(0.5f)>();
  shift<N, N, 23>();
  add_integer<N, C>();
  subtract<C, N, C>();
  multiply_add<D, D, N, C>();
  kernel::add<D, D, C>();
  load_bits<C, bits_of(89.0f)>();
  subtract<C, C, A>();
  only_where<C, Test::negative>();
  load_bits<D, kInfinity>();
  all_lanes();
  load_bits<C, bits_of(17.5f)>();
  kernel::add<C, C, A>();
  only_where<C, Test::negative>();
  move<D, kMinusOne>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
