#pragma once
#include "exp.h"

namespace baretile::kernel::sfpu {

// 1 ulp, exact for integers; above 128 inf, below -126 zero.
template <u32 D, u32 A, u32 N, u32 R, u32 C>
inline void exp2() {
  load_bits<C, bits_of(12582912.0f)>();
  kernel::add<N, A, C>();
  subtract<D, N, C>();
  subtract<R, A, D>();
  load_bits<C, bits_of(0.693147181f)>();
  multiply<R, R, C>();
  exp_minus_one<D, R, C>();
  kernel::add<D, D, kOne>();
  shift<N, N, 23>();
  add_integer<D, N>();
  load_bits<C, bits_of(128.0f)>();
  subtract<C, C, A>();
  only_where<C, Test::negative>();
  load_bits<D, kInfinity>();
  all_lanes();
  load_bits<C, bits_of(126.0f)>();
  kernel::add<C, C, A>();
  only_where<C, Test::negative>();
  load_bits<D, 0>();
  all_lanes();
}

}  // namespace baretile::kernel::sfpu
