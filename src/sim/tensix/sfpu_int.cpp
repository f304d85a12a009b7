// Integer, bit and field instructions of the vector unit.
#include "sim/tensix/sfpu.h"
#include "sim/tensix/sfpu_lanes.h"

namespace baretile::sim {
namespace {

constexpr u32 kSign = 0x80000000, kMantissa = 0x7FFFFF, kExponent = 0x7F800000;

i32 sign_extend12(u32 value) { return i32(value << 20) >> 20; }

// Left by a non-negative amount, else right; amounts count modulo 32.
u32 shift(u32 x, u32 amount, bool arithmetic) {
  const u32 right = (0 - amount) & 31;
  const u32 shifted = arithmetic ? u32(i32(x) >> right) : x >> right;
  return select(mask_if(i32(amount) >= 0), x << (amount & 31), shifted);
}

u32 leading_zeros(u32 x) { return select(mask_if(x == 0), 32, select(mask_if(i32(x) < 0), 0, u32(31 - top_bit(x)))); }

}  // namespace

void exec(State& state, const Operands&, const isa::SFPABS& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPABS", i.Mod1, {0, 1});
  if (i.Mod1 == 0)
    return assign(
        s, i.VD, [](u32 c) { return select(mask_if(i32(c) < 0), 0 - c, c); }, s.lreg[i.VC]);
  assign(
      s, i.VD, [](u32 c) { return select(mask_if(c > 0xFF800000), c, c & ~kSign); }, s.lreg[i.VC]);
}

// SFPAND and SFPOR name their second source in the immediate field (mode 1) or use VD.
void exec(State& state, const Operands&, const isa::SFPAND& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPAND", i.Mod1, {0, 1});
  if (i.Mod1 == 0 && i.Imm12 != 0) refuse("SFPAND", "mode 0 with immediate", i.Imm12);
  assign(
      s, i.VD, [](u32 b, u32 c) { return b & c; }, s.lreg[i.Mod1 ? i.Imm12 : i.VD], s.lreg[i.VC]);
}

void exec(State& state, const Operands&, const isa::SFPOR& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPOR", i.Mod1, {0, 1});
  if (i.Mod1 == 0 && i.Imm12 != 0) refuse("SFPOR", "mode 0 with immediate", i.Imm12);
  assign(
      s, i.VD, [](u32 b, u32 c) { return b | c; }, s.lreg[i.Mod1 ? i.Imm12 : i.VD], s.lreg[i.VC]);
}

void exec(State& state, const Operands&, const isa::SFPXOR& i) {
  Sfpu& s = state.sfpu;
  assign(
      s, i.VD, [](u32 b, u32 c) { return b ^ c; }, s.lreg[i.VD], s.lreg[i.VC]);
}

void exec(State& state, const Operands&, const isa::SFPNOT& i) {
  Sfpu& s = state.sfpu;
  assign(
      s, i.VD, [](u32 c) { return ~c; }, s.lreg[i.VC]);
}

// Mode bits: 0 immediate, 1 subtract, 2 leave the flags alone, 3 flags of >= 0 instead of < 0.
void exec(State& state, const Operands&, const isa::SFPIADD& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPIADD", i.Mod1, {0, 1, 2, 4, 5, 6, 8, 9, 10});
  if (i.Mod1 & 1)
    assign(
        s, i.VD, [imm = u32(sign_extend12(i.Imm12))](u32 c) { return c + imm; }, s.lreg[i.VC]);
  else if (i.Mod1 & 2)
    assign(
        s, i.VD, [](u32 c, u32 d) { return c - d; }, s.lreg[i.VC], s.lreg[i.VD]);
  else
    assign(
        s, i.VD, [](u32 c, u32 d) { return c + d; }, s.lreg[i.VC], s.lreg[i.VD]);
  if (!(i.Mod1 & 4))
    assign_flags(
        s, [invert = mask_if(i.Mod1 & 8)](u32 d) { return mask_if(i32(d) < 0) ^ invert; }, s.lreg[i.VD]);
}

void exec(State& state, const Operands&, const isa::SFPMUL24& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPMUL24", i.Mod1, {0, 1});
  if (i.VC != 9) refuse("SFPMUL24", "with an addend in LReg", i.VC);
  const bool upper = i.Mod1 == 1;
  assign(
      s, i.VD,
      [upper](u32 a, u32 b) {
        // 23-bit operands in halves of 12 and 11 bits, so that 32-bit lanes suffice.
        const u32 ah = a >> 12 & 0x7FF, al = a & 0xFFF, bh = b >> 12 & 0x7FF, bl = b & 0xFFF;
        const u32 middle = ah * bl + al * bh + (al * bl >> 12);
        return upper ? (ah * bh << 1) + (middle >> 11) : a * b & kMantissa;
      },
      s.lreg[i.VA], s.lreg[i.VB]);
}

void exec(State& state, const Operands&, const isa::SFPSHFT& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPSHFT", i.Mod1, {0, 1, 2, 3, 5, 7});
  const bool arithmetic = i.Mod1 & 2;
  if (i.Mod1 & 1) {
    const Lanes& source = s.lreg[i.Mod1 & 4 ? i.VC : i.VD];
    assign(
        s, i.VD, [=, amount = u32(sign_extend12(i.Imm12))](u32 x) { return shift(x, amount, arithmetic); }, source);
  } else {
    assign(
        s, i.VD, [=](u32 x, u32 amount) { return shift(x, amount, arithmetic); }, s.lreg[i.VD], s.lreg[i.VC]);
  }
}

void exec(State& state, const Operands&, const isa::SFPSHFT2& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPSHFT2", i.Mod1, {3, 4, 5});
  if (i.Mod1 == 5)
    return assign(
        s, i.VD, [](u32 x, u32 amount) { return shift(x, amount, false); }, s.lreg[i.Imm12 & 15], s.lreg[i.VC]);
  Lanes moved;
  for (u32 lane = 0; lane < kLanes; lane++)
    moved.lane[lane] = lane & 7 ? s.lreg[i.VC].lane[lane - 1] : i.Mod1 == 3 ? s.lreg[i.VC].lane[lane + 7] : 0;
  assign(
      s, i.VD, [](u32 x) { return x; }, moved);
}

void exec(State& state, const Operands&, const isa::SFPLZ& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPLZ", i.Mod1, {0, 2, 4});
  const Lanes c = map([mask = i.Mod1 & 4 ? ~kSign : ~0u](u32 x) { return x & mask; }, s.lreg[i.VC]);
  assign(
      s, i.VD, [](u32 x) { return leading_zeros(x); }, c);
  if (i.Mod1 & 2)
    assign_flags(
        s, [](u32 x) { return mask_if(x != 0); }, c);
}

void exec(State& state, const Operands&, const isa::SFPSETEXP& i) {
  Sfpu& s = state.sfpu;
  const auto join = [](u32 c, u32 exponent) { return (c & ~kExponent) | (exponent << 23 & kExponent); };
  switch (i.Mod1) {
    case 0:
      return assign(s, i.VD, join, s.lreg[i.VC], s.lreg[i.VD]);
    case 1:
      return assign(
          s, i.VD, [=, e = i.Imm12](u32 c) { return join(c, e); }, s.lreg[i.VC]);
    case 2:
      return assign(
          s, i.VD, [=](u32 c, u32 d) { return join(c, d >> 23); }, s.lreg[i.VC], s.lreg[i.VD]);
    default:
      refuse("SFPSETEXP", "mode", i.Mod1);
  }
}

void exec(State& state, const Operands&, const isa::SFPSETMAN& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPSETMAN", i.Mod1, {0, 1});
  const auto join = [](u32 c, u32 mantissa) { return (c & ~kMantissa) | (mantissa & kMantissa); };
  if (i.Imm12 != 0) refuse("SFPSETMAN", "with immediate", i.Imm12);
  if (i.Mod1 == 1)
    assign(
        s, i.VD, [=](u32 c) { return join(c, 0); }, s.lreg[i.VC]);
  else
    assign(s, i.VD, join, s.lreg[i.VC], s.lreg[i.VD]);
}

void exec(State& state, const Operands&, const isa::SFPSETSGN& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPSETSGN", i.Mod1, {0, 1});
  const auto join = [](u32 c, u32 sign) { return (c & ~kSign) | (sign & kSign); };
  if (i.Mod1 == 1)
    assign(
        s, i.VD, [=, sign = i.Imm12 << 31](u32 c) { return join(c, sign); }, s.lreg[i.VC]);
  else
    assign(s, i.VD, join, s.lreg[i.VC], s.lreg[i.VD]);
}

void exec(State& state, const Operands&, const isa::SFPEXEXP& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPEXEXP", i.Mod1, {0, 1, 2, 10});
  assign(
      s, i.VD, [bias = i.Mod1 & 1 ? 0u : 127u](u32 c) { return (c >> 23 & 0xFF) - bias; }, s.lreg[i.VC]);
  if (i.Mod1 & 2)
    assign_flags(
        s, [invert = mask_if(i.Mod1 & 8)](u32 d) { return mask_if(i32(d) < 0) ^ invert; }, s.lreg[i.VD]);
}

void exec(State& state, const Operands&, const isa::SFPEXMAN& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPEXMAN", i.Mod1, {0, 1});
  assign(
      s, i.VD, [hidden = i.Mod1 ? 0u : 1u << 23](u32 c) { return (c & kMantissa) | hidden; }, s.lreg[i.VC]);
}

void exec(State& state, const Operands&, const isa::SFPDIVP2& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPDIVP2", i.Mod1, {0, 1});
  if (const i32 e = sign_extend12(i.Imm12); e < -128 || e > 127) refuse("SFPDIVP2", "with immediate", i.Imm12);
  const u32 imm = i.Imm12 << 23;
  if (i.Mod1 == 0)
    return assign(
        s, i.VD, [imm](u32 c) { return (c & ~kExponent) | (imm & kExponent); }, s.lreg[i.VC]);
  assign(
      s, i.VD,
      [imm](u32 c) {
        return select(mask_if((c & kExponent) == kExponent), c, (c & ~kExponent) | ((c + imm) & kExponent));
      },
      s.lreg[i.VC]);
}

}  // namespace baretile::sim
