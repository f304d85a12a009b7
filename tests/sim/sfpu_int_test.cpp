#include "sim/math_replay.h"
#include "sim/tensix/sfpu.h"

namespace baretile::sim {
namespace {

// LReg 2 after one instruction on LReg 0 = c (or b) and LReg 2 = d, all lanes alike.
template <class Insn>
u32 integer_after(const Insn& insn, u32 c, u32 d = 0) {
  auto s = std::make_unique<State>();
  s->sfpu.lreg[0] = splat(c);
  s->sfpu.lreg[2] = splat(d);
  exec(*s, kNone, insn);
  return s->sfpu.lreg[2][13];
}

TEST(SfpuInt, AddsAndSubtractsTwosComplement) {
  EXPECT_EQ(integer_after(isa::SFPIADD{.Mod1 = 4, .VD = 2, .VC = 0}, 7, 5), 12u);
  EXPECT_EQ(integer_after(isa::SFPIADD{.Mod1 = 6, .VD = 2, .VC = 0}, 7, 9), u32(-2));  // c - d
  EXPECT_EQ(integer_after(isa::SFPIADD{.Mod1 = 5, .VD = 2, .VC = 0, .Imm12 = 0xFFF}, 7), 6u);
}

TEST(SfpuInt, AddSetsFlagsByTheSign) {
  auto s = std::make_unique<State>();
  exec(*s, kNone, isa::SFPIADD{.Mod1 = 1, .VD = 2, .VC = 15, .Imm12 = 0xFFC});  // 2 * lane - 4 < 0
  EXPECT_EQ(s->sfpu.enabled[1], ~0u);
  EXPECT_EQ(s->sfpu.enabled[2], 0u);
}

TEST(SfpuInt, ShiftsGoLeftForPositiveAmounts) {
  EXPECT_EQ(integer_after(isa::SFPSHFT{.Mod1 = 1, .VD = 2, .Imm12 = 3}, 0, 5), 40u);
  EXPECT_EQ(integer_after(isa::SFPSHFT{.Mod1 = 1, .VD = 2, .Imm12 = 0xFFD}, 0, 0x80000000), 0x10000000u);
  EXPECT_EQ(integer_after(isa::SFPSHFT{.Mod1 = 3, .VD = 2, .Imm12 = 0xFFD}, 0, 0x80000000), 0xF0000000u);
  EXPECT_EQ(integer_after(isa::SFPSHFT{.Mod1 = 0, .VD = 2, .VC = 0}, u32(-4), 0xF0), 0xFu);
  EXPECT_EQ(integer_after(isa::SFPSHFT{.Mod1 = 5, .VD = 2, .VC = 0, .Imm12 = 33}, 1), 2u);  // amounts count modulo 32
}

TEST(SfpuInt, MultipliesTwentyThreeBits) {
  const u64 a = 0x7ABCDE, product = a * 0x7ABCDE;
  EXPECT_EQ(integer_after(isa::SFPMUL24{.Mod1 = 0, .VD = 2, .VC = 9, .VB = 0, .VA = 0}, u32(a)), product & 0x7FFFFF);
  EXPECT_EQ(integer_after(isa::SFPMUL24{.Mod1 = 1, .VD = 2, .VC = 9, .VB = 0, .VA = 0}, u32(a) | 0xFF800000), product >> 23);
}

TEST(SfpuInt, CountsLeadingZeros) {
  EXPECT_EQ(integer_after(isa::SFPLZ{.VD = 2, .VC = 0}, 0), 32u);
  EXPECT_EQ(integer_after(isa::SFPLZ{.VD = 2, .VC = 0}, 0x80000000), 0u);
  EXPECT_EQ(integer_after(isa::SFPLZ{.VD = 2, .VC = 0}, 0x01FFFFFF), 7u);
  EXPECT_EQ(integer_after(isa::SFPLZ{.Mod1 = 4, .VD = 2, .VC = 0}, 0x80000001), 31u);
}

TEST(SfpuInt, TakesFloatsApartAndPutsThemTogether) {
  const u32 x = bits_of(-6.5f);  // -1.625 * 2^2
  EXPECT_EQ(integer_after(isa::SFPEXEXP{.VD = 2, .VC = 0}, x), 2u);
  EXPECT_EQ(integer_after(isa::SFPEXEXP{.Mod1 = 1, .VD = 2, .VC = 0}, x), 129u);
  EXPECT_EQ(integer_after(isa::SFPEXMAN{.VD = 2, .VC = 0}, x), 0xD00000u);
  EXPECT_EQ(integer_after(isa::SFPEXMAN{.Mod1 = 1, .VD = 2, .VC = 0}, x), 0x500000u);
  EXPECT_EQ(integer_after(isa::SFPSETEXP{.Mod1 = 1, .VD = 2, .VC = 0, .Imm12 = 127}, x), bits_of(-1.625f));
  EXPECT_EQ(integer_after(isa::SFPSETSGN{.Mod1 = 1, .VD = 2, .VC = 0}, x), bits_of(6.5f));
  EXPECT_EQ(integer_after(isa::SFPSETMAN{.VD = 2, .VC = 0}, x, 0x400000), bits_of(-6.0f));
  EXPECT_EQ(integer_after(isa::SFPDIVP2{.Mod1 = 1, .VD = 2, .VC = 0, .Imm12 = 0xFFF}, x), bits_of(-3.25f));
  EXPECT_EQ(integer_after(isa::SFPDIVP2{.Mod1 = 1, .VD = 2, .VC = 0, .Imm12 = 1}, 0x7F800000), 0x7F800000u);
}

TEST(SfpuInt, AbsoluteValueLeavesNegativeNanAlone) {
  EXPECT_EQ(integer_after(isa::SFPABS{.Mod1 = 1, .VD = 2, .VC = 0}, 0xFFC00000), 0xFFC00000u);
  EXPECT_EQ(integer_after(isa::SFPABS{.Mod1 = 1, .VD = 2, .VC = 0}, 0xFF800000), 0x7F800000u);
  EXPECT_EQ(integer_after(isa::SFPABS{.VD = 2, .VC = 0}, 0x80000000), 0x80000000u);
  EXPECT_EQ(integer_after(isa::SFPABS{.VD = 2, .VC = 0}, u32(-5)), 5u);
}

TEST(SfpuInt, LanesMoveWithinGroupsOfEight) {
  auto s = std::make_unique<State>();
  exec(*s, kNone, isa::SFPSHFT2{.Mod1 = 3, .VD = 2, .VC = 15});
  EXPECT_EQ(s->sfpu.lreg[2][8], 2u * 15);
  EXPECT_EQ(s->sfpu.lreg[2][9], 2u * 8);
  exec(*s, kNone, isa::SFPSHFT2{.Mod1 = 4, .VD = 2, .VC = 15});
  EXPECT_EQ(s->sfpu.lreg[2][8], 0u);
}

}  // namespace
}  // namespace baretile::sim
