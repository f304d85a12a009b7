#include "sim/tensix/fpu_avx2.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace baretile::sim {
namespace {

using ref::DstKind;
using V = __m256i;
constexpr i16 kAbsent16 = -8192;  // sums of two still fit 16 bits, and every alignment shift of it exceeds 13

AVX2_INLINE V load(const void* p) { return _mm256_load_si256(static_cast<const V*>(p)); }
AVX2_INLINE void store(void* p, V v) { _mm256_store_si256(static_cast<V*>(p), v); }
AVX2_INLINE V set32(i32 v) { return _mm256_set1_epi32(v); }
AVX2_INLINE V broadcast_pair(const i16 (&pair)[2]) {
  i32 both;
  __builtin_memcpy(&both, pair, 4);
  return _mm256_set1_epi32(both);
}

// 2^(14 - s) in each 16-bit lane for s = 0 … 14: byte t of the table is 2^(7 - t) for t < 8; the high byte looks up s +
// 1, the low one s - 7 (negative indices give 0).
AVX2_INLINE V power_of_shift(V s) {
  const V table = _mm256_setr_epi8(-128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4, 2, 1,
                                   0, 0, 0, 0, 0, 0, 0, 0);
  const V twice = _mm256_or_si256(s, _mm256_slli_epi16(s, 8));
  return _mm256_shuffle_epi8(table, _mm256_add_epi8(twice, _mm256_set1_epi16(0x0100 + 0xF9)));
}

struct Group {
  V value, exponent;  // 16 columns, 16 bits each
};

struct Limits {
  i16 floor, drop;  // ref::zero_exponent, ref::drop_limit
  Limits(bool half, u32 phase, DstKind kind)
      : floor(i16(ref::zero_exponent(half, phase))), drop(i16(ref::drop_limit(kind))) {}
};

// Eight lanes of a dot product for 16 columns. SrcA slices are held doubled: x = 2p - (p < 0) turns the half-up
// rounding of mulhrs into half up in magnitude.
AVX2_INLINE Group dot8(const i16 (*a)[kColumns], const i16 (*ea)[kColumns], const i16 (*b)[2], const i16 (*eb)[2],
                       Limits limits) {
  V e[8], top = _mm256_set1_epi16(limits.floor);
  for (u32 k = 0; k < 8; k++) {
    e[k] = _mm256_add_epi16(load(ea[k]), broadcast_pair(eb[k]));
    top = _mm256_max_epi16(top, e[k]);
  }
  V total = _mm256_setzero_si256();
  for (u32 k = 0; k < 8; k++) {
    const V shift = _mm256_min_epu16(_mm256_sub_epi16(top, e[k]), _mm256_set1_epi16(14));
    V p = _mm256_mullo_epi16(load(a[k]), broadcast_pair(b[k]));
    p = _mm256_add_epi16(p, _mm256_srai_epi16(p, 15));
    total = _mm256_add_epi16(total, _mm256_mulhrs_epi16(p, power_of_shift(shift)));
  }
  const V present = _mm256_cmpgt_epi16(top, _mm256_set1_epi16(limits.drop));
  return {_mm256_and_si256(total, present), _mm256_and_si256(top, present)};
}

AVX2_INLINE V shift_ties_up(V value, V shift) {
  const V half = _mm256_srli_epi32(_mm256_sllv_epi32(set32(1), shift), 1);
  return _mm256_srav_epi32(_mm256_add_epi32(value, half), shift);
}
AVX2_INLINE V with_sign_of(V magnitude, V sign) {
  return _mm256_sub_epi32(_mm256_xor_si256(magnitude, sign), sign);
}  // sign: 0 or -1

struct Float {
  V sign, exponent, mantissa;  // sign 0 or -1; exponent 0 means zero
};

// Adds groups to Dst for eight columns: ref::accumulate with the shifts in vector form.
template <DstKind kind>
AVX2_INLINE Float accumulate8(Float dst, V value0, V exponent0, V value1, V exponent1) {
  constexpr i32 kMantissa = kind == DstKind::fp32 ? 23 : kind == DstKind::fp16 ? 10 : 7;
  constexpr i32 kFraction = kind == DstKind::fp32 ? 23 : 10;
  constexpr i32 kRebias = kind == DstKind::fp16 ? 112 : 0;
  constexpr i32 kLargest =
      kind == DstKind::fp16 ? 31 : 254;  // beyond it FP16 stays at its largest number, the others become infinite
  const V zero = _mm256_setzero_si256(), limit = set32(30);
  const V dst_present = _mm256_cmpgt_epi32(dst.exponent, zero);
  const V dst_exponent = _mm256_and_si256(_mm256_add_epi32(dst.exponent, set32(kRebias)), dst_present);
  const V significand = _mm256_and_si256(
      _mm256_slli_epi32(_mm256_or_si256(dst.mantissa, set32(1 << kMantissa)), kFraction - kMantissa), dst_present);

  const V top = _mm256_max_epi32(_mm256_max_epi32(exponent0, exponent1), dst_exponent);
  const auto scaled = [&](V v, V e) AVX2 {
    return shift_ties_up(_mm256_slli_epi32(v, kFraction - 10), _mm256_min_epi32(_mm256_sub_epi32(top, e), limit));
  };
  const V aligned = shift_ties_up(significand, _mm256_min_epi32(_mm256_sub_epi32(top, dst_exponent), limit));
  const V total = _mm256_add_epi32(_mm256_add_epi32(scaled(value0, exponent0), scaled(value1, exponent1)),
                                   with_sign_of(aligned, dst.sign));

  // The top bit's number comes from a conversion to float; clearing the bit below it keeps that conversion from
  // rounding up.
  const V magnitude = _mm256_abs_epi32(total);
  const V clean = _mm256_andnot_si256(_mm256_srli_epi32(magnitude, 1), magnitude);
  const V msb = _mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(clean)), 23), set32(127));
  const V excess = _mm256_sub_epi32(msb, set32(kMantissa));
  const V rounded = _mm256_sllv_epi32(shift_ties_up(magnitude, _mm256_max_epi32(excess, zero)),
                                      _mm256_max_epi32(_mm256_sub_epi32(zero, excess), zero));
  const V carry = _mm256_srli_epi32(rounded, kMantissa + 1);
  const V exponent = _mm256_add_epi32(_mm256_add_epi32(top, carry), _mm256_sub_epi32(msb, set32(kFraction + kRebias)));

  const V alive = _mm256_and_si256(_mm256_cmpgt_epi32(exponent, zero), _mm256_cmpgt_epi32(magnitude, zero));
  const V overflow = _mm256_cmpgt_epi32(exponent, set32(kLargest));
  const V mantissa =
      kind == DstKind::fp16 ? _mm256_or_si256(rounded, overflow) : _mm256_andnot_si256(overflow, rounded);
  return {_mm256_and_si256(_mm256_srai_epi32(total, 31), alive),
          _mm256_and_si256(_mm256_min_epi32(exponent, set32(kind == DstKind::fp16 ? 31 : 255)), alive),
          _mm256_and_si256(_mm256_and_si256(mantissa, set32((1 << kMantissa) - 1)), alive)};
}

// Eight columns of a row in Dst's own bit order: `high` is the 16-bit row, `low` the row of low mantissa bits of fp32.
template <DstKind kind>
AVX2_INLINE Float unpack8(V high, V low) {
  constexpr i32 kExponentMask = kind == DstKind::fp16 ? 0x1F : 0xFF;
  const V sign = _mm256_srai_epi32(_mm256_slli_epi32(high, 16), 31);
  const V exponent = _mm256_and_si256(high, set32(kExponentMask));
  V mantissa;
  if constexpr (kind == DstKind::fp16) mantissa = _mm256_and_si256(_mm256_srli_epi32(high, 5), set32(0x3FF));
  if constexpr (kind == DstKind::bf16) mantissa = _mm256_and_si256(_mm256_srli_epi32(high, 8), set32(0x7F));
  if constexpr (kind == DstKind::fp32)
    mantissa = _mm256_or_si256(_mm256_and_si256(_mm256_slli_epi32(high, 8), set32(0x7F0000)), low);
  return {sign, exponent, mantissa};
}

template <DstKind kind>
AVX2_INLINE V pack_high(Float f) {
  V mantissa;
  if constexpr (kind == DstKind::fp16) mantissa = _mm256_slli_epi32(f.mantissa, 5);
  if constexpr (kind == DstKind::bf16) mantissa = _mm256_slli_epi32(f.mantissa, 8);
  if constexpr (kind == DstKind::fp32) mantissa = _mm256_and_si256(_mm256_srli_epi32(f.mantissa, 8), set32(0x7F00));
  return _mm256_or_si256(_mm256_or_si256(mantissa, f.exponent), _mm256_and_si256(f.sign, set32(0x8000)));
}

AVX2_INLINE V widen_low(V v) { return _mm256_cvtepu16_epi32(_mm256_castsi256_si128(v)); }
AVX2_INLINE V widen_high(V v) { return _mm256_cvtepu16_epi32(_mm256_extracti128_si256(v, 1)); }
AVX2_INLINE V sign_widen_low(V v) { return _mm256_cvtepi16_epi32(_mm256_castsi256_si128(v)); }
AVX2_INLINE V sign_widen_high(V v) { return _mm256_cvtepi16_epi32(_mm256_extracti128_si256(v, 1)); }
AVX2_INLINE V narrow(V low, V high) { return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8); }

template <DstKind kind>
struct DstRow {
  u16 *high, *low;
  AVX2_INLINE DstRow(Dst& dst, u32 row)
      : high(dst.rows[kind == DstKind::fp32 ? Dst::high_row(row) : row]), low(high + 8 * kColumns) {}
};

template <DstKind kind>
AVX2_INLINE void accumulate_row(DstRow<kind> row, Group g0, Group g1) {
  const V high = load(row.high), low = kind == DstKind::fp32 ? load(row.low) : _mm256_setzero_si256();
  const Float left =
      accumulate8<kind>(unpack8<kind>(widen_low(high), widen_low(low)), sign_widen_low(g0.value),
                        sign_widen_low(g0.exponent), sign_widen_low(g1.value), sign_widen_low(g1.exponent));
  const Float right =
      accumulate8<kind>(unpack8<kind>(widen_high(high), widen_high(low)), sign_widen_high(g0.value),
                        sign_widen_high(g0.exponent), sign_widen_high(g1.value), sign_widen_high(g1.exponent));
  store(row.high, narrow(pack_high<kind>(left), pack_high<kind>(right)));
  if constexpr (kind == DstKind::fp32)
    store(row.low,
          narrow(_mm256_and_si256(left.mantissa, set32(0xFFFF)), _mm256_and_si256(right.mantissa, set32(0xFFFF))));
}

// True when adding nothing would change the row: a denormal or negative zero becomes zero, the top exponent infinity.
template <DstKind kind>
AVX2_INLINE bool changes_by_itself(DstRow<kind> row) {
  constexpr i16 kExponentMask = kind == DstKind::fp16 ? 0x1F : 0xFF;
  const V high = load(row.high), bits = kind == DstKind::fp32 ? _mm256_or_si256(high, load(row.low)) : high;
  const V exponent = _mm256_and_si256(high, _mm256_set1_epi16(kExponentMask)), zero = _mm256_setzero_si256();
  const V denormal = _mm256_andnot_si256(_mm256_cmpeq_epi16(bits, zero), _mm256_cmpeq_epi16(exponent, zero));
  const V infinite = kind == DstKind::fp16 ? zero : _mm256_cmpeq_epi16(exponent, _mm256_set1_epi16(kExponentMask));
  return _mm256_movemask_epi8(_mm256_or_si256(denormal, infinite)) != 0;
}

template <DstKind kind>
AVX2 void multiply(Dst& dst, u32 dst_row, const SrcASlices& a, u32 row_a, const SrcBSlices& b, u32 row_b, u32 rows,
                   Limits limits) {
  const i16 rest = limits.floor > limits.drop ? limits.floor : 0;  // exponent of the sum of a SrcB row of zeros
  for (u32 i = 0; i < rows; i++) {
    const DstRow<kind> row(dst, dst_row + i);
    const u32 r = row_b + i;
    if (b.live_rows >> r & 1) {
      const Group g0 = dot8(a.slice + row_a, a.exponent + row_a, b.slice[r], b.exponent[r], limits);
      const Group g1 = dot8(a.slice + row_a + 8, a.exponent + row_a + 8, b.slice[r] + 8, b.exponent[r] + 8, limits);
      accumulate_row<kind>(row, g0, g1);
    } else if (rest > 0 || changes_by_itself<kind>(row)) {
      const Group nothing{_mm256_setzero_si256(), _mm256_set1_epi16(rest)};
      accumulate_row<kind>(row, nothing, nothing);
    }
  }
}

constexpr i32 pick(bool condition, i32 yes, i32 no) { return condition ? yes : no; }

// The only adder group of an element-wise operation, for 16 columns; plain loops that the compiler turns into vectors.
AVX2_INLINE Group elementwise_group(ref::Elementwise op, ref::RowPair rows, ref::Style style, u32 phase,
                                    Limits limits) {
  alignas(32) i16 values[kColumns], exponents[kColumns];
  alignas(32) u32 column[kColumns];
  for (u32 c = 0; c < kColumns; c++) column[c] = rows.broadcast ? rows.b[0] : rows.b[c];
  const i32 mask = style.half ? 0x1F : 0xFF, bias = style.half ? 112 : 0, floor = limits.floor, drop = limits.drop;
  const i32 shift_a = phase & 1 ? 1 : 6, hidden_a = phase & 1 ? 0 : 0x10, keep_a = phase & 1 ? 0x1F : 0xF;
  const i32 right_b = phase & 2 ? 0 : 4, left_b = phase & 2 ? 3 : 0, hidden_b = phase & 2 ? 0 : 0x40,
            keep_b = phase & 2 ? 0xF : 0x3F;
  const i32 product_bias = -127 - (phase & 1 ? 5 : 0) - (phase & 2 ? 7 : 0),
            negate = op == ref::Elementwise::sub ? -1 : 0;
  const auto finish = [&](u32 c, i32 value, i32 top) AVX2 {
    values[c] = i16(pick(top > drop, value, 0));
    exponents[c] = i16(pick(top > drop, top, 0));
  };
  const auto exponent_of = [&](i32 datum) AVX2 { return pick((datum & mask) == 0, kAbsent16, (datum & mask) + bias); };
  if (op == ref::Elementwise::mul) {
    for (u32 c = 0; c < kColumns; c++) {
      const i32 a = i32(rows.a[c] & style.mask_a), b = i32(column[c] & style.mask_b), sign = -((a ^ b) >> 18);
      const i32 slice_a = (((a >> 8 & 0x3FF) >> shift_a) & keep_a) | hidden_a;
      const i32 slice_b = ((((b >> 8 & 0x3FF) >> right_b) & keep_b) << left_b) | hidden_b;
      const i32 product = slice_a * slice_b, top = exponent_of(a) + exponent_of(b) + product_bias;
      finish(c, pick(top < floor, 0, (product ^ sign) - sign), pick(top < floor, floor, top));
    }
  } else {
    for (u32 c = 0; c < kColumns; c++) {
      const i32 a = i32(rows.a[c] & style.mask_a), b = i32(column[c] & style.mask_b), sa = -(a >> 18),
                sb = -(b >> 18) ^ negate;
      const i32 ea = exponent_of(a), eb = exponent_of(b), larger = pick(ea > eb, ea, eb),
                top = pick(larger < floor, floor, larger);
      const i32 da = pick(top - ea > 15, 15, top - ea), db = pick(top - eb > 15, 15, top - eb);
      const i32 xa = ((a >> 8 & 0x3FF) + 0x400 + (1 << da >> 1)) >> da,
                xb = ((b >> 8 & 0x3FF) + 0x400 + (1 << db >> 1)) >> db;
      finish(c, ((xa ^ sa) - sa) + ((xb ^ sb) - sb), top);
    }
  }
  return {load(values), load(exponents)};
}

template <DstKind kind>
AVX2 void elementwise(Dst& dst, u32 dst_row, ref::Elementwise op, ref::RowPair rows, ref::Style style, u32 phase) {
  const Group nothing{_mm256_setzero_si256(), _mm256_setzero_si256()};
  accumulate_row<kind>(DstRow<kind>(dst, dst_row), elementwise_group(op, rows, style, phase, {style.half, phase, kind}),
                       nothing);
}

// True when the block has to be made (again); forgets blocks of another generation or style.
bool start_refresh(Slices& slices, const SrcBank& bank, u32 row, u32 style) {
  if (slices.generation != bank.generation || slices.style != style) {
    slices.generation = bank.generation;
    slices.style = style;
    slices.ready = 0;
    slices.live_rows = 0;
  }
  const u32 block = 1u << row / 8;
  if (slices.ready & block) return false;
  slices.ready |= block;
  return true;
}

}  // namespace

bool avx2_available() {
  static const bool available = __builtin_cpu_supports("avx2");
  return available;
}

AVX2 void refresh_avx2(SrcASlices& slices, const SrcBank& bank, u32 row, ref::Style style, bool odd_phase) {
  const bool half = style.half;
  if (!start_refresh(slices, bank, row, style.mask_a | u32{half} << 31)) return;
  const i32 mask = half ? 0x1F : 0xFF, bias = (half ? 112 : 0) - (odd_phase ? 5 : 0);
  const i32 shift = odd_phase ? 1 : 6, hidden = odd_phase ? 0 : 0x10;
  for (u32 r = row; r < row + 8; r++)
    for (u32 c = 0; c < kColumns; c++) {
      const i32 datum = i32(bank.rows[r][c] & style.mask_a), exponent = datum & mask, sign = -(datum >> 18);
      const i32 magnitude = ((datum >> 8 & 0x3FF) >> shift & (0x0F | (odd_phase ? 0x10 : 0))) | hidden;
      slices.slice[r][c] = i16(2 * ((magnitude ^ sign) - sign));
      slices.exponent[r][c] = i16(exponent ? exponent + bias : kAbsent16);
    }
}

AVX2 void refresh_avx2(SrcBSlices& slices, const SrcBank& bank, u32 row, ref::Style style, bool high_phase) {
  const bool half = style.half;
  if (!start_refresh(slices, bank, row, style.mask_b | u32{half} << 31)) return;
  const i32 mask = half ? 0x1F : 0xFF, bias = (half ? 112 : 0) - 127 - (high_phase ? 7 : 0);
  for (u32 r = row; r < row + 8; r++) {
    i32 any = 0;
    for (u32 c = 0; c < kColumns; c++) {
      const i32 datum = i32(bank.rows[r][c] & style.mask_b), exponent = datum & mask, sign = -(datum >> 18),
                mantissa = datum >> 8 & 0x3FF;
      const i32 magnitude = high_phase ? (mantissa & 0xF) << 3 : mantissa >> 4 | 0x40;
      slices.slice[r][c][0] = slices.slice[r][c][1] = i16((magnitude ^ sign) - sign);
      slices.exponent[r][c][0] = slices.exponent[r][c][1] = i16(exponent ? exponent + bias : kAbsent16);
      any |= exponent;
    }
    if (any) slices.live_rows |= u64{1} << r;
  }
}

void multiply_avx2(Dst& dst, u32 dst_row, DstKind kind, const SrcASlices& a, u32 row_a, const SrcBSlices& b, u32 row_b,
                   u32 rows, bool half, u32 phase) {
  switch (kind) {
    case DstKind::fp32:
      return multiply<DstKind::fp32>(dst, dst_row, a, row_a, b, row_b, rows, {half, phase, kind});
    case DstKind::bf16:
      return multiply<DstKind::bf16>(dst, dst_row, a, row_a, b, row_b, rows, {half, phase, kind});
    case DstKind::fp16:
      return multiply<DstKind::fp16>(dst, dst_row, a, row_a, b, row_b, rows, {half, phase, kind});
  }
}

void elementwise_avx2(Dst& dst, u32 dst_row, DstKind kind, ref::Elementwise op, ref::RowPair rows, ref::Style style,
                      u32 phase) {
  switch (kind) {
    case DstKind::fp32:
      return elementwise<DstKind::fp32>(dst, dst_row, op, rows, style, phase);
    case DstKind::bf16:
      return elementwise<DstKind::bf16>(dst, dst_row, op, rows, style, phase);
    case DstKind::fp16:
      return elementwise<DstKind::fp16>(dst, dst_row, op, rows, style, phase);
  }
}

}  // namespace baretile::sim

#else
namespace baretile::sim {}
#endif
