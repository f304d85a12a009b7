#include "sim/tensix/fpu_simd.h"

#if defined(__x86_64__)
#define FEATURES "avx512f,avx512bw,avx512vl,avx512dq,avx512cd"  // those that best_simd() asks for
#if defined(__clang__)
#define SIMD __attribute__((target(FEATURES)))
#else  // g++ 12 would make loops of 256-bit vectors, and takes its own intrinsics for uses of uninitialised values
#define SIMD __attribute__((target(FEATURES ",prefer-vector-width=512")))
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#define SIMD_INLINE SIMD __attribute__((always_inline)) inline

#include <immintrin.h>

namespace baretile::sim {
namespace {

constexpr u32 kWidth = 16;
using V = i32 __attribute__((vector_size(64)));
using H = i16 __attribute__((vector_size(64)));

SIMD_INLINE H multiply_high_rounded(H a, H b) { return H(_mm512_mulhrs_epi16(__m512i(a), __m512i(b))); }
SIMD_INLINE H power_of_shift(H s) { return H(_mm512_srlv_epi16(_mm512_set1_epi16(1 << 14), __m512i(s))); }
SIMD_INLINE V shift_right(V v, V by) { return V(_mm512_srav_epi32(__m512i(v), __m512i(by))); }
SIMD_INLINE V shift_left(V v, V by) { return V(_mm512_sllv_epi32(__m512i(v), __m512i(by))); }
SIMD_INLINE V absolute(V v) { return V(_mm512_abs_epi32(__m512i(v))); }
SIMD_INLINE V leading_zeros(V v) { return V(_mm512_lzcnt_epi32(__m512i(v))); }
SIMD_INLINE V widen(const u16* p) { return V(_mm512_cvtepu16_epi32(*reinterpret_cast<const __m256i*>(p))); }
SIMD_INLINE void store_narrow(u16* p, V v) { *reinterpret_cast<__m256i*>(p) = _mm512_cvtepi32_epi16(__m512i(v)); }
// Of kWidth / 8 rows the eight columns from p on.
SIMD_INLINE V eights(const u32* p) {
  const auto* row = reinterpret_cast<const __m256i*>(p);
  return V(_mm512_inserti64x4(_mm512_castsi256_si512(row[0]), row[kColumns / 8], 1));
}
SIMD_INLINE u32 nonzero_lanes(V v) { return _mm512_test_epi32_mask(__m512i(v), __m512i(v)); }

}  // namespace
}  // namespace baretile::sim

#include "sim/tensix/fpu_vector.h"

const baretile::sim::FpuKernels baretile::sim::kAvx512Kernels = kKernels;
#endif
