#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sim/tensix/float_bits.h"
#include "sim/tensix/packer.h"
#include "sim/tensix/state.h"

namespace baretile::sim {
namespace {

constexpr u32 kSign = 0x80000000, kInfinity = 0x7F800000;

// Rounding to a narrower mantissa, ties away: denormals and minus zero become zero, NaN becomes infinity.
constexpr u32 round_float(u32 v, u32 dropped_bits) {
  const u32 exponent = v & kInfinity;
  if (!exponent) return 0;
  if (exponent == kInfinity) return v & (kSign | kInfinity);
  const u32 half = dropped_bits ? 1u << (dropped_bits - 1) : 0;
  return (v + half) & ~((1u << dropped_bits) - 1);
}

// FP16 with `dropped_bits` fewer mantissa bits, ties away; exponent 31 is an ordinary number.
constexpr u32 round_fp16(u32 v, u32 dropped_bits) {
  const u32 half = dropped_bits ? 1u << (dropped_bits - 1) : 0;
  const u32 magnitude = std::min((v & 0x7FFF) + half, 0x7FFFu) & ~((1u << dropped_bits) - 1);
  return magnitude & 0x7C00 ? fp32_of_fp16((v & 0x8000) | magnitude) : 0;
}

// Magnitude saturated to seven bits with a sign, or to eight without.
constexpr u32 saturate_int8(u32 v, bool is_unsigned) {
  const u32 magnitude = v & ~kSign;
  if (is_unsigned) return v & kSign ? 0 : std::min(magnitude, 255u);
  return (v >> 24 & 0x80) | std::min(magnitude, 127u);
}

template <class Function>
inline __attribute__((always_inline)) void each(const u32* __restrict in, u32 count, u32* __restrict out,
                                                Function function) {
  for (u32 i = 0; i < count; i++) out[i] = function(in[i]);
}

// FP8 with four exponent bits (Pac_LF8_4b_exp): saturates, and has no denormals.
constexpr u32 fp8_of_fp32(u32 v) {
  const u32 sign = v >> 24 & 0x80, exponent = v >> 23 & 0xFF;
  return sign | (exponent <= 120 ? 0 : exponent > 135 ? 0x7F : (exponent - 120) << 3 | (v >> 20 & 7));
}

template <class T, class Function>
inline __attribute__((always_inline)) u32 store(const u32* __restrict values, u32 count, u8* __restrict out,
                                                Function function) {
  for (u32 i = 0; i < count; i++) {
    const T value = T(function(values[i]));
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
  return count * u32(sizeof(T));
}

// Sixteen BF16 values (by truncation) to sign and seven bits of magnitude under their largest exponent; BFP4 and BFP2
// cut that.
u32 store_bfp(const u32* values, u32 count, u32 bits, u8* out, u8* exponent) {
  u32 largest = 0;
  for (u32 i = 0; i < count; i++) largest = std::max(largest, values[i] >> 23 & 0xFF);
  *exponent = u8(largest);
  const u32 per_byte = 8 / bits;
  std::memset(out, 0, count / per_byte);
  for (u32 i = 0; i < count; i++) {
    const u32 e = values[i] >> 23 & 0xFF, shift = largest - e;
    u32 magnitude = 0;
    if (e && shift < 8) magnitude = std::min((((values[i] >> 16 & 0x7F) | 0x80) + (1u << shift)) >> (shift + 1), 127u);
    magnitude >>= 8 - bits;
    const u32 datum = magnitude ? (values[i] >> 31 << (bits - 1)) | magnitude : 0;
    out[i / per_byte] |= u8(datum << i % per_byte * bits);
  }
  return count / per_byte;
}

}  // namespace

PackMode pack_mode(bool read32, isa::Format in, isa::Format out) {
  using E = EarlyConversion;
  using L = LateConversion;
  struct Row {
    u32 code;  // read32, In, Out as hexadecimal digits
    PackMode mode;
  };
  static constexpr Row kRows[] = {
      {0x010, {E::fp16, L::fp32}},         {0x011, {E::fp16, L::fp16}},         {0x015, {E::fp16, L::bf16}},
      {0x01A, {E::fp16, L::fp8}},          {0x026, {E::e5m6, L::bfp8}},         {0x050, {E::bf16, L::fp32}},
      {0x055, {E::bf16, L::bf16}},         {0x056, {E::bf16, L::bfp8}},         {0x057, {E::bf16, L::bfp4}},
      {0x05F, {E::bf16, L::bfp2}},         {0x060, {E::e8m6_of_bf16, L::fp32}}, {0x065, {E::e8m6_of_bf16, L::bf16}},
      {0x066, {E::e8m6_of_bf16, L::bfp8}}, {0x067, {E::e8m6_of_bf16, L::bfp4}}, {0x099, {E::int16, L::int16}},
      {0x100, {E::fp32, L::fp32}},         {0x101, {E::fp32, L::fp16}},         {0x106, {E::fp32, L::bfp8}},
      {0x107, {E::fp32, L::bfp4}},         {0x10F, {E::fp32, L::bfp2}},         {0x111, {E::tf32_of_fp32, L::fp16}},
      {0x11A, {E::tf32_of_fp32, L::fp8}},  {0x155, {E::bf16_of_fp32, L::bf16}}, {0x166, {E::e8m6_of_fp32, L::bfp8}},
      {0x167, {E::e8m6_of_fp32, L::bfp4}}, {0x188, {E::int32, L::int32}},       {0x199, {E::int16_of_high, L::int16}},
      {0x1EE, {E::int8, L::int8}}};
  static constexpr auto kByCode = [] {
    std::array<PackMode, 512> modes{};
    for (const Row& row : kRows) modes[row.code] = row.mode;
    return modes;
  }();
  return kByCode[u32{read32} << 8 | u32(in) << 4 | u32(out)];
}

BARETILE_VECTOR_LOOP void convert_early(EarlyConversion conversion, const u32* bits, u32 count, u32* out,
                                        bool unsigned_int8) {
  const auto bf16 = [](u32 d) { return u32{bf16_of_dst(u16(d))} << 16; };
  switch (conversion) {
    case EarlyConversion::bf16:
      return each(bits, count, out, [=](u32 d) { return round_float(bf16(d), 16); });
    case EarlyConversion::e8m6_of_bf16:
      return each(bits, count, out, [=](u32 d) { return round_float(bf16(d), 17); });
    case EarlyConversion::fp16:
      return each(bits, count, out, [](u32 d) { return round_fp16(fp16_of_dst(u16(d)), 0); });
    case EarlyConversion::e5m6:
      return each(bits, count, out, [](u32 d) { return round_fp16(fp16_of_dst(u16(d)), 4); });
    case EarlyConversion::fp32:
      return each(bits, count, out, fp32_of_dst);
    case EarlyConversion::bf16_of_fp32:
      return each(bits, count, out, [](u32 d) { return round_float(fp32_of_dst(d), 16); });
    case EarlyConversion::e8m6_of_fp32:
      return each(bits, count, out, [](u32 d) { return round_float(fp32_of_dst(d), 17); });
    case EarlyConversion::tf32_of_fp32:
      return each(bits, count, out, [](u32 d) { return round_float(fp32_of_dst(d), 13); });
    case EarlyConversion::int32:
      return each(bits, count, out, fp32_of_dst);
    case EarlyConversion::int16:
      return each(bits, count, out, [](u32 d) { return d; });
    case EarlyConversion::int16_of_high:
      return each(bits, count, out, [](u32 d) { return d >> 16; });
    case EarlyConversion::int8:
      return each(bits, count, out, [=](u32 d) { return saturate_int8(fp32_of_dst(d), unsigned_int8); });
    case EarlyConversion::none:
      return;
  }
}

u32 add_fp32(u32 a, u32 b) {
  const auto flush = [](u32 v) { return v & kInfinity ? v : v & kSign; };
  const u32 sum = flush(std::bit_cast<u32>(std::bit_cast<float>(flush(a)) + std::bit_cast<float>(flush(b))));
  return (sum & ~kSign) > kInfinity ? 0x7FC00000 : sum;
}

// The 16-bit sums round to nearest even, unlike the rest of the packer.
constexpr u32 round_to_even(u32 v, u32 dropped_bits) {
  return v + (1u << (dropped_bits - 1)) - 1 + (v >> dropped_bits & 1);
}

// An infinite value wins over a NaN, and a NaN in L1 counts as infinity.
u32 add_bf16(u32 old, u32 value) {
  constexpr u32 kInf = 0x7F80;
  if ((value & kInf) == kInf) return (old & 0x7FFF) == kInf && old != value ? 0x7FC0 : value;
  if ((old & kInf) == kInf) return old & 0xFF80;
  return round_to_even(add_fp32(old << 16, value << 16), 16) >> 16;
}

// Goes wrong as on ttsim: below FP16's range the sign alone is left down to 2^-15, then the largest magnitude; two
// large values that cancel give the largest one too.
u32 add_fp16(u32 old, u32 value) {
  if ((old ^ value) == 0x8000 && (value >> 10 & 31) >= 30) return 0x7FFF;
  const u32 sum = round_to_even(add_fp32(fp32_of_fp16(old), fp32_of_fp16(value)), 13);
  const u32 exponent = sum >> 23 & 0xFF, sign = sum >> 16 & 0x8000;
  if (exponent > 112) return fp16_of_fp32(sum);
  return exponent == 0 || exponent == 112 ? sign : sign | 0x7FFF;
}

void apply_relu(u32 mode, u32 threshold, bool integer, u32* values, u32 count) {
  for (u32 i = 0; i < count; i++) {
    u32& v = values[i];
    if (integer) {
      if (v & kSign) v = 0;
    } else if (v & kSign || (mode == 2 && v <= threshold)) {
      v = 0;
    } else if (mode == 3 && v >> 13 > threshold >> 13) {  // ttsim's clamp sees ten mantissa bits
      v = threshold;
    }
  }
}

BARETILE_VECTOR_LOOP u32 convert_late(LateConversion conversion, const u32* values, u32 count, u8* out, u8* exponents) {
  switch (conversion) {
    case LateConversion::fp32:
    case LateConversion::int32:
      std::memcpy(out, values, count * 4);
      return count * 4;
    case LateConversion::bf16:
      return store<u16>(values, count, out, [](u32 v) { return v >> 16; });
    case LateConversion::fp16:
      return store<u16>(values, count, out, fp16_of_fp32);
    case LateConversion::int16:
      return store<u16>(values, count, out, [](u32 v) { return v; });
    case LateConversion::fp8:
      return store<u8>(values, count, out, fp8_of_fp32);
    case LateConversion::int8:
      return store<u8>(values, count, out, [](u32 v) { return v; });
    case LateConversion::bfp8:
      return store_bfp(values, count, 8, out, exponents);
    case LateConversion::bfp4:
      return store_bfp(values, count, 4, out, exponents);
    case LateConversion::bfp2:
      return store_bfp(values, count, 2, out, exponents);
    case LateConversion::none:
      return 0;
  }
  return 0;
}

}  // namespace baretile::sim
