#pragma once
#include "sfpu_core.h"

namespace baretile::kernel::sfpu {

// 6 ulp. x P(x^2) / Q(x^2), minimax to 2^-24.1 for |x| <= 3.92, from where on it is 1 in fp32. Zero stays zero.
template <u32 D, u32 A, u32 X, u32 Z, u32 Q, u32 C>
inline void erf() {
  clear_sign<X, A>();
  scale<X, bits_of(-1.0f)>();
  load_bits<C, bits_of(-3.921875f)>();
  swap_max<X, C>();  // a NaN is above
  multiply<Z, X, X>();
  polynomial<D, Z, C, bits_of(2.0556049094e-6f), bits_of(2.8482003836e-4f), bits_of(3.7515205331e-3f),
             bits_of(5.2702601999e-2f), bits_of(1.9004130363e-1f), bits_of(1.1283791065f)>();
  multiply<X, D, X>();
  polynomial<Q, Z, C, bits_of(3.8146972656e-5f), bits_of(1.1596679688e-3f), bits_of(1.4939526096e-2f),
             bits_of(1.1396040022e-1f), bits_of(5.0175243616e-1f)>();
  multiply_add<Q, Q, Z, kOne>();
  issue<encode(SFPARECIP{.VD = C, .VC = Q})>();
  quotient<Z, X, Q, C, D>();
  move<D, A>();
  swap_max<Z, kMinusOne>();
  take_magnitude<D, Z>();
}

}  // namespace baretile::kernel::sfpu
