#include "sim/tensix/fpu_simd.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define SIMD __attribute__((target("avx2")))
#define SIMD_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace baretile::sim {
namespace {

constexpr u32 kWidth = 8;
using V = i32 __attribute__((vector_size(32)));
using H = i16 __attribute__((vector_size(32)));

SIMD_INLINE H multiply_high_rounded(H a, H b) { return H(_mm256_mulhrs_epi16(__m256i(a), __m256i(b))); }
// 2^(14 - s) in each 16-bit lane, 0 for s > 14: byte t of the table is 2^(7 - t) for t < 8; the high byte looks up
// s + 1, the low one s - 7 (negative indices give 0).
SIMD_INLINE H power_of_shift(H s) {
  const __m256i table = _mm256_setr_epi8(-128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4,
                                         2, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m256i clamped = _mm256_min_epu16(__m256i(s), _mm256_set1_epi16(14));
  const __m256i twice = _mm256_or_si256(clamped, _mm256_slli_epi16(clamped, 8));
  return H(_mm256_shuffle_epi8(table, _mm256_add_epi8(twice, _mm256_set1_epi16(0x0100 + 0xF9))));
}
SIMD_INLINE V shift_right(V v, V by) { return V(_mm256_srav_epi32(__m256i(v), __m256i(by))); }
SIMD_INLINE V shift_left(V v, V by) { return V(_mm256_sllv_epi32(__m256i(v), __m256i(by))); }
SIMD_INLINE V absolute(V v) { return V(_mm256_abs_epi32(__m256i(v))); }
// By way of a conversion to float: clearing the bit below the top one keeps that from rounding up. Of 0: more than 32.
SIMD_INLINE V leading_zeros(V v) {
  return 158 - (V(_mm256_castps_si256(_mm256_cvtepi32_ps(__m256i(v & ~(v >> 1))))) >> 23);
}
SIMD_INLINE V widen(const u16* p) { return V(_mm256_cvtepu16_epi32(*reinterpret_cast<const __m128i*>(p))); }
SIMD_INLINE void store_narrow(u16* p, V v) {
  const __m256i low = _mm256_and_si256(__m256i(v), _mm256_set1_epi32(0xFFFF));
  *reinterpret_cast<__m128i*>(p) = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
// Of kWidth / 8 rows the eight columns from p on.
SIMD_INLINE V eights(const u32* p) { return V(_mm256_load_si256(reinterpret_cast<const __m256i*>(p))); }
SIMD_INLINE u32 nonzero_lanes(V v) { return u32(_mm256_movemask_ps(_mm256_castsi256_ps(__m256i(v != 0)))); }

}  // namespace
}  // namespace baretile::sim

#include "sim/tensix/fpu_vector.h"

const baretile::sim::FpuKernels baretile::sim::kAvx2Kernels = kKernels;
#endif
