// Random programs for the vector unit: eight registers of random bits, some lanes switched off, a few instructions,
// everything stored.
#pragma once
#include "diff/math_cases.h"

namespace baretile::diff {

// An instruction with random registers, in a mode that ttsim takes.
inline u32 random_sfpu_word(Random& r) {
  const u32 d = r.below(8), c = r.one_in(4) ? 8 + r.below(8) : r.below(8),
            b = r.one_in(4) ? 8 + r.below(8) : r.below(8), a = r.below(16);
  const u32 mode2 = r.below(2), imm = r.below(4096), half = r.fp32() >> 16;
  switch (r.below(37)) {
    case 0:
      return encode(I::SFPLOADI{.Imm16 = half, .Mod0 = r.pick({0, 1, 2, 4, 8, 10}), .VD = d});
    case 1:
      return encode(I::SFPADD{.Mod1 = r.below(4), .VD = d, .VC = c, .VB = b, .VA = 10});
    case 2:
      return encode(I::SFPMUL{.Mod1 = mode2, .VD = d, .VC = 9, .VB = b, .VA = a});
    case 3:
      return encode(I::SFPMULI{.VD = d, .Imm16 = half});
    case 4:
      return encode(I::SFPADDI{.VD = d, .Imm16 = half});
    case 5:
      return encode(I::SFPDIVP2{.Mod1 = mode2, .VD = d, .VC = c, .Imm12 = (r.below(256) - 128) & 0xFFF});
    case 6:
      return encode(I::SFPEXEXP{.Mod1 = r.pick({0, 1, 2, 10}), .VD = d, .VC = c});
    case 7:
      return encode(I::SFPEXMAN{.Mod1 = mode2, .VD = d, .VC = c});
    case 8:
      return encode(I::SFPIADD{.Mod1 = r.pick({1, 5, 9}), .VD = d, .VC = c, .Imm12 = imm});
    case 9:
      return encode(I::SFPIADD{.Mod1 = r.pick({0, 2, 4, 6, 8, 10}), .VD = d, .VC = c});
    case 10:
      return encode(I::SFPSHFT{.Mod1 = r.pick({1, 3}), .VD = d, .Imm12 = imm});
    case 11:
      return encode(I::SFPSHFT{.Mod1 = r.pick({5, 7}), .VD = d, .VC = c, .Imm12 = imm});
    case 12:
      return encode(I::SFPSHFT{.Mod1 = r.pick({0, 2}), .VD = d, .VC = c});
    case 13:
      return encode(I::SFPMOV{.Mod1 = r.below(3), .VD = d, .VC = c});
    case 14:
      return encode(I::SFPABS{.Mod1 = mode2, .VD = d, .VC = c});
    case 15:
      return encode(I::SFPAND{.Mod1 = mode2, .VD = d, .VC = c, .Imm12 = mode2 * b});
    case 16:
      return encode(I::SFPOR{.Mod1 = mode2, .VD = d, .VC = c, .Imm12 = mode2 * b});
    case 17:
      return encode(I::SFPNOT{.VD = d, .VC = c});
    case 18:
      return encode(I::SFPXOR{.VD = d, .VC = c});
    case 19:
      return encode(I::SFPLZ{.Mod1 = r.pick({0, 2, 4}), .VD = d, .VC = c});
    case 20:
      return encode(I::SFPSETEXP{.Mod1 = r.pick({0, 2}), .VD = d, .VC = c});
    case 21:
      return encode(I::SFPSETEXP{.Mod1 = 1, .VD = d, .VC = c, .Imm12 = imm & 0xFF});
    case 22:
      return encode(I::SFPSETMAN{.Mod1 = mode2, .VD = d, .VC = c});
    case 23:
      return encode(I::SFPSETSGN{.Mod1 = mode2, .VD = d, .VC = c, .Imm12 = imm & mode2});
    case 24:
      return encode(I::SFP_STOCH_RND{.Mod1 = r.pick({1, 2, 3, 6, 7}), .VD = d, .VC = c});
    case 25:
      return encode(I::SFPCAST{.Mod1 = r.pick({0, 3}), .VD = d, .VC = c});
    case 26:
      return encode(I::SFPSWAP{.Mod1 = r.pick({0, 1, 2, 3, 9}), .VD = d, .VC = r.below(8)});
    case 27:
      return encode(I::SFPSHFT2{.Mod1 = r.pick({3, 4}), .VD = d, .VC = c});
    case 28:
      return encode(I::SFPSHFT2{.Mod1 = 5, .VD = d, .VC = c, .Imm12 = b});
    case 29:
      return encode(I::SFPLUT{.Mod0 = 4, .VD = d});
    case 30:
      return encode(I::SFPLUTFP32{.Mod1 = 2, .VD = d});
    case 31:
      return encode(I::SFPLE{.Mod1 = r.pick({1, 8}), .VD = d, .VC = c});
    case 32:
      return encode(I::SFPGT{.Mod1 = r.pick({1, 8}), .VD = d, .VC = c});
    case 33:
      return encode(I::SFPMUL24{.Mod1 = mode2, .VD = d, .VC = 9, .VB = b, .VA = a});
    case 34:
      return encode(I::SFPARECIP{.VD = d, .VC = c});
    case 35:
      return encode(I::SFPTRANSP{});
    default:
      return encode(I::SFPMAD{.Mod1 = r.below(4), .VD = d, .VC = c, .VB = b, .VA = a});
  }
}

// Conditional execution in a nest that closes again.
inline void push_random_program(List& t, Random& r) {
  u32 depth = 0;
  for (u32 n = 2 + r.below(10); n > 0; n--) {
    switch (r.below(14)) {
      case 0:
        if (depth == 8) break;
        t.push(I::SFPPUSHC{});
        depth++;
        break;
      case 1:
        if (depth == 0) break;
        t.push(I::SFPPOPC{});
        depth--;
        break;
      case 2:
      case 3:
        t.push(I::SFPSETCC{.Mod1 = r.pick({0, 2, 4, 6}), .VC = r.below(16)});
        break;
      case 4:
        t.push(I::SFPCOMPC{});
        break;
      default:
        t.push(random_sfpu_word(r));
    }
  }
  while (depth-- > 0) t.push(I::SFPPOPC{});
}

// Three programs a case, each with 20 rows of Dst from row 64 on: which lanes were left on (LReg 10 stored over zeros),
// then LReg 0 … 7.
inline Case sfpu_case(u32 seed) {
  Random r(seed);
  MathCase m{.use_src = false, .out_row = 64};
  std::vector<u32> dst(1024);
  for (u32& v : dst) v = r.fp32();
  return make_case(m, "sfpu seed " + std::to_string(seed), dst, {}, {}, [&](List& t) {
    for (u32 reg = 11; reg < 15; reg++) {
      const u32 value = r.fp32();
      t.push(I::SFPLOADI{.Imm16 = value & 0xFFFF, .Mod0 = 10, .VD = 0});
      t.push(I::SFPLOADI{.Imm16 = value >> 16, .Mod0 = 8, .VD = 0});
      t.push(I::SFPCONFIG{.ConfigDest = reg});
    }
    for (u32 base = 64; base < 124; base += 20) {
      for (u32 reg = 0; reg < 8; reg++) t.push(I::SFPLOAD{.Addr = 2 * r.below(32), .Mod0 = 4, .VD = reg});
      t.push(I::SFPSTORE{.Addr = base, .Mod0 = 4, .VD = 9});
      push_random_program(t, r);
      t.push(I::SFPSTORE{.Addr = base, .Mod0 = 4, .VD = 10});
      t.push(I::SFPENCC{.Mod1 = 10, .Imm12 = 3});
      for (u32 reg = 0; reg < 8; reg++) t.push(I::SFPSTORE{.Addr = base + 4 + 2 * reg, .Mod0 = 4, .VD = reg});
      t.push(I::SFPSTORE{.Addr = base + 2, .Mod0 = 4, .VD = 9});
    }
    for (u32 addr = 124; addr < 128; addr += 2) t.push(I::SFPSTORE{.Addr = addr, .Mod0 = 4, .VD = 9});
  });
}

// SFPLOAD and SFPSTORE in every mode between random places, some of them emptied by ZEROACC before.
inline Case sfpu_dst_case(u32 seed) {
  Random r(seed);
  MathCase m{.configured_b = r.one_in(3) ? Format::fp16 : Format::bf16, .use_src = false, .dst32 = r.below(2) != 0};
  std::vector<u32> dst(1024);
  for (u32& v : dst) v = r.fp32();
  return make_case(m, "sfpu Dst seed " + std::to_string(seed), dst, {}, {}, [&](List& t) {
    for (u32 reg = 0; reg < 8; reg++) t.push(I::SFPLOAD{.Addr = 2 * r.below(32), .Mod0 = 4, .VD = reg});
    for (u32 n = 0; n < 24; n++) {
      if (r.one_in(6)) t.push(I::ZEROACC{.Where = r.below(4), .Use32BitMode = r.below(2), .ClearMode = 1});
      if (r.one_in(6)) t.push(I::SFPSETCC{.Mod1 = r.pick({0, 2, 4, 6}), .VC = r.below(8)});
      if (r.one_in(4)) t.push(I::SFPENCC{.Mod1 = 10, .Imm12 = 3});
      t.push(I::SFPLOAD{.Addr = 2 * r.below(32), .Mod0 = r.pick({0, 2, 3, 4, 6, 12, 14, 15}), .VD = r.below(8)});
      t.push(
          I::SFPSTORE{.Addr = 2 * r.below(32), .Mod0 = r.pick({0, 2, 3, 4, 6, 7, 9, 12, 14, 15}), .VD = r.below(12)});
    }
    t.push(I::SFPENCC{.Mod1 = 10, .Imm12 = 3});
  });
}

}  // namespace baretile::diff
