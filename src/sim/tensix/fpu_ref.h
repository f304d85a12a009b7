// The matrix unit's arithmetic as plain scalar code: what the fast paths must equal, and the path where the host has no
// AVX2. No ISA page spells it out (MVMUL.md calls its own model a rough guide); the rules were found by probing ttsim
// v1.10 and hold there bit for bit.
#pragma once
#include <span>

#include "sim/tensix/state.h"

namespace baretile::sim::ref {

enum class DstKind : u32 { bf16, fp16, fp32 };

// How the bits of a Src datum are read: half = five-bit exponents (FP16, FP8); mask_a, mask_b drop the three mantissa
// bits BF16 does not have.
struct Style {
  bool half = false;
  u32 mask_a = kAllBits, mask_b = kAllBits;
  static constexpr u32 kAllBits = 0x7FFFF, kBf16Bits = 0x7F8FF;
  u32 word_a() const { return mask_a | u32{half} << 31; }
  u32 word_b() const { return mask_b | u32{half} << 31; }
  static Style of_words(u32 a, u32 b) { return {a >> 31 != 0, a & kAllBits, b & kAllBits}; }
};

// value * 2^(exponent - 137); no part of a sum at all when the exponent is kAbsent.
struct Term {
  i32 value;
  i32 exponent;
};
inline constexpr i32 kAbsent = -(1 << 14);

// The product of a SrcA and a SrcB datum (19 bits each) in a fidelity phase: slices of 5 and 7 bits.
Term product(u32 a, u32 b, bool half, u32 phase);
Term whole(u32 datum, bool half);  // all 11 significant bits, as ELWADD takes them

// What a product with a zero operand (or an addend of zero) still contributes to its group's largest exponent: both exponents count as 0.
constexpr i32 zero_exponent(bool half, u32 phase) {
  return half ? 97 - 5 * i32(phase & 1) - 7 * i32(phase >> 1) : kAbsent;
}
// A group whose largest exponent is not above this is dropped.
constexpr i32 drop_limit(DstKind kind) { return kind == DstKind::fp16 ? 112 : 0; }

// One adder group: terms are shifted to the largest exponent, rounding half up in magnitude, and summed exactly.
Term sum(std::span<const Term> terms, DstKind kind);

// Dst rows += `rows` SrcB rows times 16 SrcA rows, or a row of element-wise operations; Dst in its own bit order.
void multiply(Dst&, u32 dst_row, DstKind, const SrcBank& a, u32 row_a, const SrcBank& b, u32 row_b, u32 rows, Style,
              u32 phase);

enum class Elementwise : u32 { add, sub, mul };
struct RowPair {
  const u32* a;
  const u32* b;
  bool broadcast;  // column 0 of b everywhere
};
void elementwise(Dst&, u32 dst_row, DstKind, Elementwise, RowPair, Style, u32 phase);

// dst + groups, rounded to the kind's precision; dst and the result are bit patterns in IEEE field order.
u32 accumulate(u32 dst, DstKind kind, std::span<const Term> groups);

}  // namespace baretile::sim::ref
