// The body of fpu_avx2.cpp and fpu_avx512.cpp, which first define SIMD (the functions' target attribute), the number of
// 32-bit lanes kWidth, the types V (kWidth times 32 bits), H (twice as many of 16 bits) and the operations on them that
// differ. A 32-bit lane is a column: in 16-bit halves it holds what the column's two adder groups do.
#pragma once

namespace baretile::sim {
namespace {

using ref::DstKind;
using U = u32 __attribute__((vector_size(4 * kWidth)));  // V for logical shifts
constexpr i16 kAbsent16 = -8192;  // sums of two still fit 16 bits, and every alignment shift of it exceeds 13

template <class T>
SIMD_INLINE T load(const void* p) {
  return *static_cast<const T __attribute__((may_alias))*>(p);
}
template <class T>
SIMD_INLINE void store(void* p, T value) {
  *static_cast<T __attribute__((may_alias))*>(p) = value;
}
template <class T>
SIMD_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}
SIMD_INLINE H both_groups(const i16 (&pair)[2]) {
  i32 both;
  __builtin_memcpy(&both, pair, 4);
  return H(V{} + both);
}

struct Sums {
  H value, exponent;  // of both adder groups of kWidth columns
};

// Dot products of two times eight lanes. SrcA slices are held doubled: x = 2p - (p < 0) turns the half-up rounding of
// mulhrs into half up in magnitude.
SIMD_INLINE Sums dot(const i16 (*a)[kColumns][2], const i16 (*ea)[kColumns][2], const i16 (*b)[2], const i16 (*eb)[2],
                     u32 column, i16 floor, i16 drop) {
  H e[8];
  for (u32 k = 0; k < 8; k++) e[k] = load<H>(ea[k][column]) + both_groups(eb[k]);
  const H top =
      larger(larger(larger(larger(e[0], e[1]), larger(e[2], e[3])), larger(larger(e[4], e[5]), larger(e[6], e[7]))),
             H{} + floor);
  H total{};
  for (u32 k = 0; k < 8; k++) {
    const H p = load<H>(a[k][column]) * both_groups(b[k]);
    total += multiply_high_rounded(p + (p >> 15), power_of_shift(top - e[k]));
  }
  const H present = top > H{} + drop;
  return {total & present, top & present};
}

SIMD_INLINE V halved_ties_up(V v) { return (v + 1) >> 1; }

template <DstKind kind>
struct DstRow {
  u16 *high, *low;
  SIMD_INLINE DstRow(Dst& dst, u32 row)
      : high(dst.rows[kind == DstKind::fp32 ? Dst::high_row(row) : row]), low(high + 8 * kColumns) {}
};

// Adds sums to kWidth columns of Dst: ref::accumulate, with one bit more than the fraction until a shift has rounded.
template <DstKind kind>
SIMD_INLINE void accumulate(DstRow<kind> row, u32 column, Sums sums) {
  constexpr i32 kMantissa = kind == DstKind::fp32 ? 23 : kind == DstKind::fp16 ? 10 : 7;
  constexpr i32 kFraction = kind == DstKind::fp32 ? 23 : 10;
  constexpr i32 kRebias = kind == DstKind::fp16 ? 112 : 0;
  constexpr i32 kExponentMask = kind == DstKind::fp16 ? 31 : 255;
  constexpr i32 kLargest =
      kind == DstKind::fp16 ? 31 : 254;  // beyond it FP16 stays at its largest number, the others become infinite
  constexpr i32 kMantissaAt = kind == DstKind::fp16 ? 5 : 8;  // in the 16-bit row

  const V high = widen(row.high + column), exponent_field = high & kExponentMask;
  V mantissa = high >> kMantissaAt & ((1 << kMantissa) - 1);
  if constexpr (kind == DstKind::fp32) mantissa = (high << 8 & 0x7F0000) | widen(row.low + column);
  const V dst_present = exponent_field > 0, negative = (high & 0x8000) != 0;
  const V dst_exponent = kRebias ? (exponent_field + kRebias) & dst_present : exponent_field;
  const V significand = (mantissa | 1 << kMantissa) << (kFraction - kMantissa + 1) & dst_present;

  const V exponent0 = V(sums.exponent) & 0xFFFF, exponent1 = V(sums.exponent) >> 16;
  const V top = larger(larger(exponent0, exponent1), dst_exponent);
  // A group's value stands in the top half of its lane, 16 bits above where its last place belongs.
  const V place = top + (25 - kFraction);
  const V group0 = halved_ties_up(shift_right(V(sums.value) << 16, place - exponent0));
  const V group1 = halved_ties_up(shift_right(V(sums.value) & i32(0xFFFF0000), place - exponent1));
  const V groups = group0 + group1, aligned = halved_ties_up(shift_right(significand, top - dst_exponent));
  const V total = negative ? groups - aligned : groups + aligned;

  const V magnitude = absolute(total), zeros = leading_zeros(magnitude);
  const V rounded = halved_ties_up(V(U(shift_left(magnitude, zeros)) >> (30 - kMantissa)));
  const V exponent = top - zeros + (rounded >> (kMantissa + 1)) + (31 - kFraction - kRebias);
  const V alive = (rounded < exponent ? rounded : exponent) > 0, overflow = exponent > kLargest;
  const V bits = (kind == DstKind::fp16 ? rounded | overflow : rounded & ~overflow) & alive;
  const V field = (exponent < kExponentMask ? exponent : V{} + kExponentMask) | (total >> 16 & 0x8000);
  const V placed = kind == DstKind::fp32 ? bits >> 8 & 0x7F00 : (bits & ((1 << kMantissa) - 1)) << kMantissaAt;
  store_narrow(row.high + column, placed | (field & alive));
  if constexpr (kind == DstKind::fp32) store_narrow(row.low + column, bits);
}

template <DstKind kind>
SIMD void multiply(Dst& dst, u32 dst_row, const SrcASlices& a, u32 row_a, const SrcBSlices& b, u32 row_b, u32 rows,
                   i32 floor) {
  const auto *slice = a.slice + row_a / 2, *exponent = a.exponent + row_a / 2;
  for (; rows; rows &= rows - 1) {
    const u32 i = u32(__builtin_ctz(rows)), r = row_b + i;
    __asm__("" : "+r"(slice), "+r"(exponent));  // or g++ keeps the address of every slice in a register
    for (u32 c = 0; c < kColumns; c += kWidth)
      accumulate<kind>({dst, dst_row + i}, c,
                       dot(slice, exponent, b.slice[r], b.exponent[r], c, i16(floor), ref::drop_limit(kind)));
  }
}

template <DstKind kind>
SIMD void add_nothing(Dst& dst, u32 dst_row, i32 floor) {
  const i32 exponent = floor > ref::drop_limit(kind) ? floor * 0x10001 : 0;
  for (u32 c = 0; c < kColumns; c += kWidth) accumulate<kind>({dst, dst_row}, c, {H{}, H(V{} + exponent)});
}

constexpr i32 pick(bool condition, i32 yes, i32 no) { return condition ? yes : no; }

// An element-wise operation has one adder group; plain loops that the compiler turns into vectors.
template <DstKind kind>
SIMD void elementwise(Dst& dst, u32 dst_row, ref::Elementwise op, ref::RowPair rows, ref::Style style, u32 phase) {
  alignas(64) i32 values[kColumns], exponents[kColumns], column[kColumns];
  for (u32 c = 0; c < kColumns; c++) column[c] = i32(rows.broadcast ? rows.b[0] : rows.b[c]);
  const i32 mask = style.half ? 0x1F : 0xFF, bias = style.half ? 112 : 0, floor = ref::zero_exponent(style.half, phase),
            drop = ref::drop_limit(kind);
  const i32 shift_a = phase & 1 ? 1 : 6, hidden_a = phase & 1 ? 0 : 0x10, keep_a = phase & 1 ? 0x1F : 0xF;
  const i32 right_b = phase & 2 ? 0 : 4, left_b = phase & 2 ? 3 : 0, hidden_b = phase & 2 ? 0 : 0x40,
            keep_b = phase & 2 ? 0xF : 0x3F;
  const i32 product_bias = -127 - (phase & 1 ? 5 : 0) - (phase & 2 ? 7 : 0),
            negate = op == ref::Elementwise::sub ? -1 : 0;
  const auto finish = [&](u32 c, i32 value, i32 top) SIMD {
    values[c] = pick(top > drop, value & 0xFFFF, 0);
    exponents[c] = pick(top > drop, top, 0);
  };
  const auto exponent_of = [&](i32 datum) SIMD { return pick((datum & mask) == 0, kAbsent16, (datum & mask) + bias); };
  if (op == ref::Elementwise::mul) {
    for (u32 c = 0; c < kColumns; c++) {
      const i32 a = i32(rows.a[c] & style.mask_a), b = column[c] & i32(style.mask_b), sign = -((a ^ b) >> 18);
      const i32 slice_a = (((a >> 8 & 0x3FF) >> shift_a) & keep_a) | hidden_a;
      const i32 slice_b = ((((b >> 8 & 0x3FF) >> right_b) & keep_b) << left_b) | hidden_b;
      const i32 product = slice_a * slice_b, top = exponent_of(a) + exponent_of(b) + product_bias;
      finish(c, pick(top < floor, 0, (product ^ sign) - sign), pick(top < floor, floor, top));
    }
  } else {
    for (u32 c = 0; c < kColumns; c++) {
      const i32 a = i32(rows.a[c] & style.mask_a), b = column[c] & i32(style.mask_b), sa = -(a >> 18),
                sb = -(b >> 18) ^ negate;
      const i32 ea = exponent_of(a), eb = exponent_of(b), most = pick(ea > eb, ea, eb),
                top = pick(most < floor, floor, most);
      const i32 da = pick(top - ea > 15, 15, top - ea), db = pick(top - eb > 15, 15, top - eb);
      const i32 xa = ((a >> 8 & 0x3FF) + 0x400 + (1 << da >> 1)) >> da,
                xb = ((b >> 8 & 0x3FF) + 0x400 + (1 << db >> 1)) >> db;
      finish(c, ((xa ^ sa) - sa) + ((xb ^ sb) - sb), top);
    }
  }
  for (u32 c = 0; c < kColumns; c += kWidth)
    accumulate<kind>(DstRow<kind>(dst, dst_row), c, {load<H>(values + c), load<H>(exponents + c)});
}

// Forgets blocks of another generation or style; `rows` from `row` on become ready.
void start_slices(Slices& slices, const SrcBank& bank, u32 row, u32 rows, u32 style) {
  if (slices.generation != bank.generation || slices.style != style) {
    slices.generation = bank.generation;
    slices.style = style;
    slices.ready = 0;
    slices.live_rows = 0;
  }
  slices.ready |= (rows == 16 ? 3u : 1u) << row / 8;
}

// The part of a mantissa that a fidelity phase multiplies: which of its ten bits, where they go, and the bit above
// them.
struct Part {
  i16 bits, left, right, hidden;
};
constexpr Part kHighOfA{0x3C0, 0, 5, 0x20}, kLowOfA{0x3E, 0, 0, 0};  // SrcA's doubled
constexpr Part kHighOfB{0x3F0, 0, 4, 0x40}, kLowOfB{0xF, 3, 0, 0};

// Twice kWidth datums as slices, those of `low` and `high` side by side in 16-bit halves.
struct Cut {
  H slice, exponent, field;  // the exponent as it adds up, and as it stands in the datum
};
template <Part part>
SIMD_INLINE Cut cut(V low, V high, u32 mask, bool half, i16 bias) {
  const i32 exponent_mask = half ? 0x1F : 0xFF;
  const H field = H((low & exponent_mask) | (high & exponent_mask) << 16);
  const H mantissa = H((low >> 8 & 0x7FF) | (high << 8 & 0x7FF0000)), sign = mantissa << 5 >> 15;  // bit 10
  const H magnitude = ((mantissa & i16(mask >> 8 & u32(part.bits))) << part.left >> part.right) | part.hidden;
  return {(magnitude ^ sign) - sign, field != 0 ? field + bias : H{} + kAbsent16, field};
}

template <Part part>
SIMD void cut_a(SrcASlices& slices, const SrcBank& bank, u32 row, ref::Style style, i16 bias) {
  for (u32 k = 0; k < 8; k++)
    for (u32 c = 0; c < kColumns; c += kWidth) {
      const Cut both = cut<part>(load<V>(bank.rows[row + k] + c), load<V>(bank.rows[row + 8 + k] + c), style.mask_a,
                                 style.half, bias);
      store(slices.slice[row / 2 + k][c], both.slice);
      store(slices.exponent[row / 2 + k][c], both.exponent);
    }
}
SIMD void slice_a(SrcASlices& slices, const SrcBank& bank, u32 row, ref::Style style, bool odd_phase) {
  start_slices(slices, bank, row, 16, style.word_a());
  const i16 bias = style.half ? 112 : 0;
  odd_phase ? cut_a<kLowOfA>(slices, bank, row, style, i16(bias - 5)) : cut_a<kHighOfA>(slices, bank, row, style, bias);
}

template <Part part>
SIMD void cut_b(SrcBSlices& slices, const SrcBank& bank, u32 row, ref::Style style, i16 bias) {
  for (u32 r = row; r < row + 8; r += kWidth / 8) {
    const Cut both = cut<part>(eights(bank.rows[r]), eights(bank.rows[r] + 8), style.mask_b, style.half, bias);
    store(slices.slice[r], both.slice);
    store(slices.exponent[r], both.exponent);
    for (u32 lanes = nonzero_lanes(V(both.field)), k = r; lanes; lanes >>= 8, k++)
      if (lanes & 0xFF) slices.live_rows |= u64{1} << k;
  }
}
SIMD void slice_b(SrcBSlices& slices, const SrcBank& bank, u32 row, ref::Style style, bool high_phase) {
  start_slices(slices, bank, row, 8, style.word_b());
  const i16 bias = (style.half ? 112 : 0) - 127;
  high_phase ? cut_b<kLowOfB>(slices, bank, row, style, i16(bias - 7))
             : cut_b<kHighOfB>(slices, bank, row, style, bias);
}

using enum DstKind;
constexpr FpuKernels kKernels{slice_a,
                              slice_b,
                              {multiply<bf16>, multiply<fp16>, multiply<fp32>},
                              {add_nothing<bf16>, add_nothing<fp16>, add_nothing<fp32>},
                              {elementwise<bf16>, elementwise<fp16>, elementwise<fp32>}};

}  // namespace
}  // namespace baretile::sim
