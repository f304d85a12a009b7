#include "sim/tensix/fpu_simd.h"

namespace baretile::sim {

Simd best_simd() {
#if defined(__x86_64__)
  static const Simd best = [] {
    if (!__builtin_cpu_supports("avx2")) return Simd::none;
    for (bool has : {__builtin_cpu_supports("avx512f") != 0, __builtin_cpu_supports("avx512bw") != 0,
                     __builtin_cpu_supports("avx512vl") != 0, __builtin_cpu_supports("avx512dq") != 0,
                     __builtin_cpu_supports("avx512cd") != 0})
      if (!has) return Simd::avx2;
    return Simd::avx512;
  }();
  return best;
#else
  return Simd::none;
#endif
}

const FpuKernels* best_fpu_kernels() {
#if defined(__x86_64__)
  if (best_simd() == Simd::avx512) return &kAvx512Kernels;
  if (best_simd() == Simd::avx2) return &kAvx2Kernels;
#endif
  return nullptr;
}

}  // namespace baretile::sim
