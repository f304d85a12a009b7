// Floating-point arithmetic, conversions and tables of the vector unit.
#include "sim/tensix/sfpu.h"
#include "sim/tensix/sfpu_lanes.h"

namespace baretile::sim {
namespace {

constexpr u32 kSign = 0x80000000, kOne = 0x3F800000;

// VD = ±(VA * VB) ± VC; modes 4 and 8 (registers named by LReg 7) are not modelled.
void multiply_add(Sfpu& s, std::string_view insn, u32 mode, u32 va, u32 vb, u32 vc, u32 vd) {
  check_mode(insn, mode, {0, 1, 2, 3});
  const u32 flip_b = mode & 1 ? kSign : 0, flip_c = mode & 2 ? kSign : 0;
  assign(
      s, vd, [=](u32 a, u32 b, u32 c) { return fma_bits(a, b ^ flip_b, c ^ flip_c); }, s.lreg[va], s.lreg[vb],
      s.lreg[vc]);
}

// 1/x for positive x, by table (SFPARECIP.md).
constexpr u8 kReciprocals[128] = {
    127, 125, 123, 121, 119, 117, 116, 114, 112, 110, 109, 107, 105, 104, 102, 100, 99, 97, 96, 94, 93, 91,
    90,  88,  87,  85,  84,  83,  81,  80,  79,  77,  76,  75,  74,  72,  71,  70,  69, 68, 66, 65, 64, 63,
    62,  61,  60,  59,  58,  57,  56,  55,  54,  53,  52,  51,  50,  49,  48,  47,  46, 45, 44, 43, 42, 41,
    40,  40,  39,  38,  37,  36,  35,  35,  34,  33,  32,  31,  31,  30,  29,  28,  28, 27, 26, 25, 25, 24,
    23,  23,  22,  21,  21,  20,  19,  19,  18,  17,  17,  16,  15,  15,  14,  14,  13, 12, 12, 11, 11, 10,
    9,   9,   8,   8,   7,   7,   6,   5,   5,   4,   4,   3,   3,   2,   2,   1,   1,  0};
u32 approximate_reciprocal(u32 x) {
  if (x < 0x00800000) return 0x7F800000;
  if (x >= 0x7E800000) return 0;
  return (253 - (x >> 23)) << 23 | u32{kReciprocals[x >> 16 & 0x7F]} << 16;
}

// SFPLUT's eight-bit and SFPLUTFP32's sixteen-bit coefficients.
u32 fp32_of_lut8(u32 x) {
  return select(mask_if((x & 0xFF) == 0xFF), 0, (x & 0x80) << 24 | (127 - (x >> 4 & 7)) << 23 | (x & 0xF) << 19);
}
u32 fp32_of_lut16(u32 x) {
  const u32 exponent = x >> 10 & 0x1F;
  return (x & 0x8000) << 16 | select(mask_if(exponent == 0x1F), 0, (112 + exponent) << 23) | (x & 0x3FF) << 13;
}

// Magnitude of an FP32 value rounded to an integer, ties away, at most `limit`; sign kept on request
// (SFPSTOCHRND_FloatInt.md, nearest).
u32 to_integer(u32 c, u32 limit, bool keep_sign) {
  const i32 exponent = i32(c >> 23 & 0xFF) - 127;
  const u32 significand = (c & 0x7FFFFF) | 0x800000;
  // |x| < 2^16 leaves at most 16 integer bits: one bit below the point is all that rounding to nearest needs.
  const i32 right = 22 - exponent;
  const u32 halves = select(mask_if(exponent < -1) | mask_if(right > 31), 0, significand >> (right & 31));
  const u32 rounded = (halves + 1) >> 1;
  const u32 magnitude = select(mask_if(exponent >= 16) | mask_if(rounded > limit), limit, rounded);
  return magnitude | (keep_sign && magnitude != 0 ? c & kSign : 0);
}

}  // namespace

void exec(State& s, const Operands&, const isa::SFPMAD& i) {
  multiply_add(s.sfpu, "SFPMAD", i.Mod1, i.VA, i.VB, i.VC, i.VD);
}

void exec(State& s, const Operands&, const isa::SFPADD& i) {
  if (i.VA != 10 && i.VB != 10) refuse("SFPADD", "with factors other than 1.0, VA", i.VA);
  multiply_add(s.sfpu, "SFPADD", i.Mod1, i.VA, i.VB, i.VC, i.VD);
}

void exec(State& s, const Operands&, const isa::SFPMUL& i) {
  check_mode("SFPMUL", i.Mod1, {0, 1});
  if (i.VC != 9) refuse("SFPMUL", "with an addend in LReg", i.VC);
  multiply_add(s.sfpu, "SFPMUL", i.Mod1, i.VA, i.VB, i.VC, i.VD);
}

void exec(State& state, const Operands&, const isa::SFPADDI& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPADDI", i.Mod1, {0});
  assign(
      s, i.VD, [imm = i.Imm16 << 16](u32 c) { return fma_bits(imm, kOne, c); }, s.lreg[i.VD]);
}

void exec(State& state, const Operands&, const isa::SFPMULI& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPMULI", i.Mod1, {0});
  assign(
      s, i.VD, [imm = i.Imm16 << 16](u32 c) { return fma_bits(imm, c, 0); }, s.lreg[i.VD]);
}

void exec(State& state, const Operands&, const isa::SFPARECIP& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPARECIP", i.Mod1, {0});
  assign(
      s, i.VD, [](u32 x) { return (x & kSign) | approximate_reciprocal(x & ~kSign); }, s.lreg[i.VC]);
}

void exec(State& state, const Operands&, const isa::SFPLUT& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPLUT", i.Mod0, {4});
  assign(
      s, i.VD,
      [](u32 l0, u32 l1, u32 l2, u32 x) {
        const u32 b = x & ~kSign;
        const u32 coefficients = select(mask_if(b < kOne), l0, select(mask_if(b < 0x40000000), l1, l2));
        return (fma_bits(fp32_of_lut8(coefficients >> 8), b, fp32_of_lut8(coefficients)) & ~kSign) | (x & kSign);
      },
      s.lreg[0], s.lreg[1], s.lreg[2], s.lreg[3]);
}

// Mode 2: six segments of 16-bit coefficients, slopes in LReg 0 … 2 and offsets in LReg 4 … 6.
void exec(State& state, const Operands&, const isa::SFPLUTFP32& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPLUTFP32", i.Mod1, {2});
  const auto pick = [](u32 b, u32 first, u32 second, u32 third) {
    const u32 word = select(mask_if(b < kOne), first, select(mask_if(b < 0x40000000), second, third));
    const u32 boundary = select(mask_if(b < kOne), 0x3F000000, select(mask_if(b < 0x40000000), 0x3FC00000, 0x40400000));
    return fp32_of_lut16(select(mask_if(b < boundary), word, word >> 16));
  };
  const Lanes x = s.lreg[3];
  const Lanes slope = map([pick](u32 v, u32 l0, u32 l1, u32 l2) { return pick(v & ~kSign, l0, l1, l2); }, x, s.lreg[0],
                          s.lreg[1], s.lreg[2]);
  const Lanes offset = map([pick](u32 v, u32 l4, u32 l5, u32 l6) { return pick(v & ~kSign, l4, l5, l6); }, x, s.lreg[4],
                           s.lreg[5], s.lreg[6]);
  assign(
      s, i.VD, [](u32 a, u32 v, u32 c) { return fma_bits(a, v & ~kSign, c); }, slope, x, offset);
}

void exec(State& state, const Operands&, const isa::SFPCAST& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPCAST", i.Mod1, {0, 3});
  if (i.Mod1 == 3)
    return assign(
        s, i.VD, [](u32 c) { return select(mask_if(i32(c) < 0), kSign | (0 - c), c); }, s.lreg[i.VC]);
  assign(
      s, i.VD,
      [](u32 c) {
        const u32 magnitude = c & ~kSign, normal = magnitude << ((31 - top_bit(magnitude)) & 31);
        const u32 value = (u32(127 + top_bit(magnitude)) << 23) + (normal >> 8 & 0x7FFFFF) +
                          (mask_if(normal & 0x80) & mask_if(normal & 0x17F) & 1);
        return (c & kSign) | select(mask_if(magnitude == 0), 0, value);
      },
      s.lreg[i.VC]);
}

void exec(State& state, const Operands&, const isa::SFP_STOCH_RND& i) {
  Sfpu& s = state.sfpu;
  if (i.RndMode != 0) refuse("SFP_STOCH_RND", "rounding mode", i.RndMode);
  check_mode("SFP_STOCH_RND", i.Mod1, {1, 2, 3, 6, 7});
  s.advance_prng();
  switch (i.Mod1) {
    case 1:
      return assign(
          s, i.VD,
          [](u32 c) {
            const u32 exponent = c & 0x7F800000;
            const u32 finite = select(mask_if(exponent == 0), 0, (c + 0x8000) & 0xFFFF0000);
            return select(mask_if(exponent == 0x7F800000), c & 0xFF800000, finite);
          },
          s.lreg[i.VC]);
    case 2:
      return assign(
          s, i.VD, [](u32 c) { return to_integer(c, 255, false); }, s.lreg[i.VC]);
    case 3:
      return assign(
          s, i.VD, [](u32 c) { return to_integer(c, 127, true); }, s.lreg[i.VC]);
    case 6:
      return assign(
          s, i.VD, [](u32 c) { return to_integer(c, 65535, false); }, s.lreg[i.VC]);
    default:
      return assign(
          s, i.VD, [](u32 c) { return to_integer(c, 32767, true); }, s.lreg[i.VC]);
  }
}

}  // namespace baretile::sim
