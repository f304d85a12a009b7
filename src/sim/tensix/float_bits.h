// What the conversions of unpackers and packer share.
#pragma once
#include "baretile/bits.h"

// Each loop once for plain x86-64 and once for AVX2, chosen when the library is loaded.
#if defined(__x86_64__)
#define BARETILE_VECTOR_LOOP __attribute__((target_clones("avx2", "default")))
#else
#define BARETILE_VECTOR_LOOP
#endif

namespace baretile::sim {

// The exponent saturates; below 2^-15 only the sign is left, and from there to 2^-14 the mantissa stays under exponent
// 0 (Packers/FormatConversion.md calls that range mishandled; the unpackers do the same).
constexpr u32 fp16_of_fp32(u32 v) {
  const u32 sign = v >> 16 & 0x8000, exponent = v >> 23 & 0xFF;
  return sign | (exponent < 112 ? 0 : exponent > 143 ? 0x7FFF : (exponent - 112) << 10 | (v >> 13 & 0x3FF));
}

// Denormals become zero; exponent 31 is an ordinary one.
constexpr u32 fp32_of_fp16(u32 v) {
  return (v & 0x8000) << 16 | (v & 0x7C00 ? ((v & 0x7FFF) << 13) + (112u << 23) : 0);
}

}  // namespace baretile::sim
