#include "sim/tensix/fpu_ref.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace baretile::sim::ref {
namespace {

struct Layout {
  u32 exponent_bits, mantissa_bits;
  i32 fraction;  // bits after the binary point while adding
  i32 rebias;    // to the eight-bit exponent
  u32 overflow;  // what a magnitude too large becomes: infinity, or FP16's largest number (it has no infinity)
};
constexpr Layout layout_of(DstKind kind) {
  switch (kind) {
    case DstKind::bf16:
      return {8, 7, 10, 0, 0x7F80};
    case DstKind::fp16:
      return {5, 10, 10, 112, 0x7FFF};
    default:
      return {8, 23, 23, 0, 0x7F800000};
  }
}

i32 field_of(u32 datum, bool half) { return i32(datum & (half ? 0x1F : 0xFF)); }
i32 mantissa_of(u32 datum) { return i32(datum >> 8 & 0x3FF); }

// Shifts of 30 and more leave nothing of the 29-bit sums.
i32 shift_ties_up(i32 value, i32 shift) { return (value + (1 << shift >> 1)) >> shift; }
i32 shift_ties_away(i32 value, i32 shift) {
  return value < 0 ? -shift_ties_up(-value, shift) : shift_ties_up(value, shift);
}
i32 clamp_shift(i32 shift) { return std::min(shift, 30); }

u32 read(const Dst& dst, DstKind kind, u32 row, u32 col) {
  if (kind == DstKind::fp32) return fp32_of_dst(dst.read32(row, col));
  return kind == DstKind::fp16 ? fp16_of_dst(dst.read16(row, col)) : bf16_of_dst(dst.read16(row, col));
}

void write(Dst& dst, DstKind kind, u32 row, u32 col, u32 bits) {
  if (kind == DstKind::fp32) return dst.write32(row, col, dst_of_fp32(bits));
  dst.write16(row, col, kind == DstKind::fp16 ? dst_of_fp16(u16(bits)) : dst_of_bf16(u16(bits)));
}

}  // namespace

Term product(u32 a, u32 b, bool half, u32 phase) {
  const i32 exponent_a = field_of(a, half), exponent_b = field_of(b, half), ma = mantissa_of(a), mb = mantissa_of(b);
  if (exponent_a == 0 || exponent_b == 0) return {0, zero_exponent(half, phase)};
  const i32 slice_a = phase & 1 ? ma >> 1 & 0x1F : 0x10 | ma >> 6;
  const i32 slice_b = phase & 2 ? (mb & 0xF) << 3 : 0x40 | mb >> 4;
  const i32 magnitude = slice_a * slice_b;
  const i32 bias = (half ? 97 : -127) - (phase & 1 ? 5 : 0) - (phase & 2 ? 7 : 0);
  return {(a ^ b) >> 18 ? -magnitude : magnitude, exponent_a + exponent_b + bias};
}

Term whole(u32 datum, bool half) {
  const i32 field = field_of(datum, half), magnitude = 0x400 | mantissa_of(datum), rebias = half ? 112 : 0;
  if (field == 0) return {0, zero_exponent(half, 0)};
  return {datum >> 18 ? -magnitude : magnitude, field + rebias};
}

Term sum(std::span<const Term> terms, DstKind kind) {
  i32 top = kAbsent;
  for (const Term& t : terms) top = std::max(top, t.exponent);
  if (top <= drop_limit(kind)) return {0, kAbsent};
  i32 total = 0;
  for (const Term& t : terms) total += shift_ties_away(t.value, clamp_shift(top - t.exponent));
  return {total, top};
}

u32 accumulate(u32 dst, DstKind kind, std::span<const Term> groups) {
  const Layout layout = layout_of(kind);
  const i32 m_bits = i32(layout.mantissa_bits);
  const u32 sign_bit = layout.exponent_bits + layout.mantissa_bits;
  const i32 dst_field = i32(extract(dst, layout.mantissa_bits, layout.exponent_bits));
  const i32 dst_exponent = dst_field == 0 ? kAbsent : dst_field + layout.rebias;

  i32 top = dst_exponent;
  for (const Term& g : groups) top = std::max(top, g.exponent);
  if (top == kAbsent) return 0;
  i32 total = 0;
  for (const Term& g : groups)
    if (g.exponent != kAbsent) total += shift_ties_up(g.value << (layout.fraction - 10), clamp_shift(top - g.exponent));
  if (dst_field != 0) {
    const i32 significand = i32(extract(dst, 0, layout.mantissa_bits) | 1u << m_bits) << (layout.fraction - m_bits);
    const i32 aligned = shift_ties_up(significand, clamp_shift(top - dst_exponent));
    total += dst >> sign_bit ? -aligned : aligned;
  }
  if (total == 0) return 0;

  // Normalise and round in magnitude, ties away; a carry out of the significand raises the exponent.
  const i32 magnitude = std::abs(total);
  const i32 msb = 31 - std::countl_zero(u32(magnitude));
  const i32 significand = msb > m_bits ? shift_ties_up(magnitude, msb - m_bits) : magnitude << (m_bits - msb);
  const i32 exponent = top + msb - layout.fraction - layout.rebias + (significand >> (m_bits + 1));
  if (exponent <= 0) return 0;
  const u32 sign = total < 0 ? 1u << sign_bit : 0;
  const u32 bits = u32(exponent) << m_bits | extract(u32(significand), 0, layout.mantissa_bits);
  return sign | (u32(exponent) > layout.overflow >> m_bits || (kind != DstKind::fp16 && bits >= layout.overflow)
                     ? layout.overflow
                     : bits);
}

void multiply(Dst& dst, u32 dst_row, DstKind kind, const SrcBank& a, u32 row_a, const SrcBank& b, u32 row_b, u32 rows,
              Style style, u32 phase) {
  for (u32 i = 0; i < rows; i++)
    for (u32 col = 0; col < kColumns; col++) {
      Term groups[2];
      for (u32 g = 0; g < 2; g++) {
        Term terms[8];
        for (u32 k = 0; k < 8; k++)
          terms[k] = product(a.rows[row_a + 8 * g + k][col] & style.mask_a, b.rows[row_b + i][8 * g + k] & style.mask_b,
                             style.half, phase);
        groups[g] = sum(terms, kind);
      }
      write(dst, kind, dst_row + i, col, accumulate(read(dst, kind, dst_row + i, col), kind, groups));
    }
}

void elementwise(Dst& dst, u32 dst_row, DstKind kind, Elementwise op, RowPair rows, Style style, u32 phase) {
  for (u32 col = 0; col < kColumns; col++) {
    const u32 a = rows.a[col] & style.mask_a, b = rows.b[rows.broadcast ? 0 : col] & style.mask_b;
    Term group;
    if (op == Elementwise::mul) {
      group = sum(std::array{product(a, b, style.half, phase)}, kind);
    } else {
      group = sum(std::array{whole(a, style.half), whole(op == Elementwise::sub ? b ^ 1u << 18 : b, style.half)}, kind);
    }
    write(dst, kind, dst_row, col, accumulate(read(dst, kind, dst_row, col), kind, std::array{group}));
  }
}

}  // namespace baretile::sim::ref
