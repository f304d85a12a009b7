#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/tensix/float_bits.h"
#include "sim/tensix/state.h"
#include "sim/tensix/unpacker.h"

namespace baretile::sim {
namespace {

template <class T>
T load(const u8* p, u32 index) {
  T value;
  std::memcpy(&value, p + index * sizeof(T), sizeof(T));
  return value;
}

// Sign, exponent, mantissa to the sign, mantissa, exponent of Src (SrcASrcB.md).
constexpr u32 src_of_tf32(u32 v) { return (v & 0x40000) | (v & 0x3FF) << 8 | (v >> 10 & 0xFF); }
constexpr u32 src_of_bf16(u32 v) { return src_of_tf32(v << 3); }
constexpr u32 src_of_fp16(u32 v) { return (v & 0x8000) << 3 | (v & 0x3FF) << 8 | (v >> 10 & 0x1F); }

// Sixteen signs and magnitudes of BFP8 under one exponent. The magnitude's own exponent comes from its conversion to
// float; a negative zero reads as minus infinity. In vectors of eight, because compilers unroll a loop of sixteen
// before they vectorise it.
inline __attribute__((always_inline)) void convert_bfp_group(const u8* datums, u32 exponent, u32* out) {
  typedef u8 Bytes __attribute__((vector_size(8)));
  typedef u32 Words __attribute__((vector_size(32)));
  typedef i32 Integers __attribute__((vector_size(32)));
  typedef float Floats __attribute__((vector_size(32)));
  for (u32 half = 0; half < 16; half += 8) {
    Bytes bytes;
    std::memcpy(&bytes, datums + half, 8);
    const Words d = __builtin_convertvector(bytes, Words), sign = (d & 0x80) << 11, magnitude = d & 0x7F;
    const Words f = (Words) __builtin_convertvector((Integers)magnitude, Floats);
    const Words value = (f >> 16 & 0x7F) << 11 | (((f >> 23) + (exponent - 133)) & 0xFF);
    const Words is_zero = (Words)(magnitude == 0), minus_infinity = (Words)(sign != 0) & 0xFF;
    const Words result = sign | (is_zero & minus_infinity) | (~is_zero & value);
    std::memcpy(out + half, &result, 32);
  }
}

// Datums of a narrower format as the high bits of BFP8 ones; the first of a group of 16 starts a byte.
template <u32 kBits>
inline __attribute__((always_inline)) void widen_bfp_group(const u8* data, u8* out) {
  if constexpr (kBits == 4) {
    constexpr u64 kHigh = 0x00F0'00F0'00F0'00F0;
    for (u32 half = 0; half < 2; half++) {
      u64 x = load<u32>(data, half);  // four bytes, spread to every second one
      x = (x | x << 16) & 0x0000'FFFF'0000'FFFF;
      x = (x | x << 8) & 0x00FF'00FF'00FF'00FF;
      x = (x << 4 & kHigh) | (x & kHigh) << 8;
      std::memcpy(out + 8 * half, &x, 8);
    }
  } else {
    constexpr u32 kPerByte = 8 / kBits;
    for (u32 i = 0; i < 16; i++) out[i] = u8(data[i / kPerByte] >> i % kPerByte * kBits << (8 - kBits));
  }
}

template <u32 kBits>
inline __attribute__((always_inline)) void convert_bfp(const DatumRun& run, u32* out) {
  u32 skip = run.first_datum % 16;  // datums of the first group that come before the run
  const u8 *group = run.data - skip * kBits / 8, *exponents = run.exponents + run.first_datum / 16;
  for (u32 i = 0; i < run.count; group += 2 * kBits, exponents++) {
    alignas(16) u8 wide[16];
    widen_bfp_group<kBits>(group, wide);
    const u32 count = std::min(16 - skip, run.count - i);
    if (count == 16) {
      convert_bfp_group(wide, *exponents, out + i);
    } else {
      alignas(64) u32 whole[16];
      convert_bfp_group(wide, *exponents, whole);
      std::memcpy(out + i, whole + skip, count * sizeof(u32));
    }
    i += count;
    skip = 0;
  }
}

template <class T, u32 (*kConvert)(u32)>
inline __attribute__((always_inline)) void convert_each(const DatumRun& run, u32* __restrict out) {
  const u8* __restrict const data = run.data;
  const u32 count = run.count;
  for (u32 i = 0; i < count; i++) out[i] = kConvert(load<T>(data, i));
}

constexpr u32 tf32_datum(u32 v) { return src_of_tf32(v >> 13); }
constexpr u32 bf16_from_fp32(u32 v) { return src_of_bf16((v & 0x7F800000 ? v : v & 0x80000000) >> 16); }
constexpr u32 fp16_from_fp32(u32 v) { return src_of_fp16(fp16_of_fp32(v)); }
// The largest magnitude stands for infinity, as it does in FP16.
constexpr u32 fp8_datum(u32 v) { return src_of_fp16(v << 8 | ((v & 0x7F) == 0x7F ? 0xFF : 0)); }
constexpr u32 int16_datum(u32 v) { return (v & 0xFF00) << 3 | (v & 0xFF); }
constexpr u32 uint8_datum(u32 v) { return src_of_fp16(v | (v ? 16u << 10 : 0)); }
constexpr u32 int8_datum(u32 v) { return (v & 0x80) << 11 | uint8_datum(v & 0x7F); }

BARETILE_VECTOR_LOOP void convert_fp32_to_tf32(const DatumRun& r, u32* out) { convert_each<u32, tf32_datum>(r, out); }
BARETILE_VECTOR_LOOP void convert_bf16(const DatumRun& r, u32* out) { convert_each<u16, src_of_bf16>(r, out); }
BARETILE_VECTOR_LOOP void convert_to_dst(const DatumRun& r, u32* out) { convert_each<u32, dst_of_fp32>(r, out); }
BARETILE_VECTOR_LOOP void convert_bfp8(const DatumRun& r, u32* out) { convert_bfp<8>(r, out); }
BARETILE_VECTOR_LOOP void convert_bfp4(const DatumRun& r, u32* out) { convert_bfp<4>(r, out); }

}  // namespace

Conversion conversion_of(isa::Format in, isa::Format out, bool to_dst, bool unsigned_int8) {
  using isa::Format;
  if (to_dst) {
    const bool known =
        in == Format::fp32 ? out == Format::fp32 || out == Format::tf32 : in == Format::int32 && out == in;
    return known ? Conversion::to_dst : Conversion::none;
  }
  if (in == Format::fp32)
    return out == Format::tf32   ? Conversion::fp32_to_tf32
           : out == Format::bf16 ? Conversion::fp32_to_bf16
           : out == Format::fp16 ? Conversion::fp32_to_fp16
                                 : Conversion::none;
  if (in != out) return Conversion::none;
  switch (in) {
    case Format::bf16:
      return Conversion::bf16;
    case Format::fp16:
      return Conversion::fp16;
    case Format::fp8:
      return Conversion::fp8;
    case Format::int16:
      return Conversion::int16;
    case Format::int8:
      return unsigned_int8 ? Conversion::uint8 : Conversion::int8;
    case Format::bfp8:
      return Conversion::bfp8;
    case Format::bfp4:
      return Conversion::bfp4;
    case Format::bfp2:
      return Conversion::bfp2;
    default:
      return Conversion::none;
  }
}

void convert(Conversion conversion, const DatumRun& run, u32* out) {
  switch (conversion) {
    case Conversion::fp32_to_tf32:
      return convert_fp32_to_tf32(run, out);
    case Conversion::fp32_to_bf16:
      return convert_each<u32, bf16_from_fp32>(run, out);
    case Conversion::fp32_to_fp16:
      return convert_each<u32, fp16_from_fp32>(run, out);
    case Conversion::bf16:
      return convert_bf16(run, out);
    case Conversion::fp16:
      return convert_each<u16, src_of_fp16>(run, out);
    case Conversion::fp8:
      return convert_each<u8, fp8_datum>(run, out);
    case Conversion::int16:
      return convert_each<u16, int16_datum>(run, out);
    case Conversion::int8:
      return convert_each<u8, int8_datum>(run, out);
    case Conversion::uint8:
      return convert_each<u8, uint8_datum>(run, out);
    case Conversion::bfp8:
      return convert_bfp8(run, out);
    case Conversion::bfp4:
      return convert_bfp4(run, out);
    case Conversion::bfp2:
      return convert_bfp<2>(run, out);
    case Conversion::to_dst:
      return convert_to_dst(run, out);
    case Conversion::none:
      return;
  }
}

}  // namespace baretile::sim
