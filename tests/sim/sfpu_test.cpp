#include "sim/tensix/sfpu.h"

#include "diff/sfpu_cases.h"
#include "sim/math_replay.h"

namespace baretile::sim {
namespace {

TEST(Sfpu, ProgramsLeaveWhatTtsimLeft) { replay(diff::sfpu_case, "sfpu.bin"); }

struct SfpuTest : testing::Test {
  std::unique_ptr<State> state = std::make_unique<State>();
  Sfpu& s = state->sfpu;
  template <class Insn>
  void run(const Insn& insn) {
    exec(*state, kNone, insn);
  }
};

TEST_F(SfpuTest, AnElseBranchRunsTheOtherLanes) {
  // if (lane < 8) x = 1; else x = 2;   LReg 15 holds twice the lane number
  run(isa::SFPIADD{.Mod1 = 5, .VD = 1, .VC = 15, .Imm12 = 0xFF0});  // 2 * lane - 16
  run(isa::SFPPUSHC{});
  run(isa::SFPSETCC{.Mod1 = 0, .VC = 1});
  run(isa::SFPLOADI{.Imm16 = 1, .Mod0 = 2, .VD = 2});
  run(isa::SFPCOMPC{});
  run(isa::SFPLOADI{.Imm16 = 2, .Mod0 = 2, .VD = 2});
  run(isa::SFPPOPC{});
  run(isa::SFPLOADI{.Imm16 = 3, .Mod0 = 2, .VD = 3});
  for (u32 lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(s.lreg[2][lane], lane < 8 ? 1u : 2u);
    EXPECT_EQ(s.lreg[3][lane], 3u);
  }
}

TEST_F(SfpuTest, SwapSortsByTotalOrder) {
  s.lreg[0] = splat(0x80000000);  // -0 sorts below +0
  s.lreg[1] = splat(0);
  run(isa::SFPSWAP{.Mod1 = 1, .VD = 1, .VC = 0});
  EXPECT_EQ(s.lreg[1][31], 0x80000000u);
  EXPECT_EQ(s.lreg[0][31], 0u);
  run(isa::SFPSWAP{.Mod1 = 2, .VD = 1, .VC = 0});  // second half of the lanes: VD gets the maximum
  EXPECT_EQ(s.lreg[1][15], 0x80000000u);
  EXPECT_EQ(s.lreg[1][16], 0u);
}

TEST_F(SfpuTest, SwapCarriesIndicesWhenConfigured) {
  run(isa::SFPCONFIG{.Mod1 = 1, .ConfigDest = 15, .Imm16 = 4});
  s.lreg[0] = splat(bits_of(2.0f));
  s.lreg[1] = splat(bits_of(1.0f));
  s.lreg[4] = splat(40);
  s.lreg[5] = splat(50);
  run(isa::SFPSWAP{.Mod1 = 1, .VD = 0, .VC = 1});
  EXPECT_EQ(s.lreg[0][0], bits_of(1.0f));
  EXPECT_EQ(s.lreg[4][0], 50u);
  EXPECT_EQ(s.lreg[5][0], 40u);
}

TEST_F(SfpuTest, TranspExchangesRowsOfRegisters) {
  for (u32 r = 0; r < 8; r++)
    for (u32 lane = 0; lane < kLanes; lane++) s.lreg[r][lane] = 100 * r + lane;
  run(isa::SFPTRANSP{});
  EXPECT_EQ(s.lreg[1][8 * 3 + 5], 100u * 3 + 8 * 1 + 5);
  EXPECT_EQ(s.lreg[6][8 * 0 + 2], 100u * 4 + 8 * 2 + 2);
}

TEST_F(SfpuTest, RandomBitsAreThoseOfTtsim) {
  s.seed(0x12345678);
  run(isa::SFPMOV{.Mod1 = 8, .VD = 0, .VC = 9});
  run(isa::SFPMOV{.Mod1 = 8, .VD = 1, .VC = 9});
  EXPECT_EQ(s.lreg[0][0], 0x837EE01Du);
  EXPECT_EQ(s.lreg[0][31], 0x4E0D6479u);
  EXPECT_EQ(s.lreg[1][0], 0x41BF700Eu);
  EXPECT_EQ(s.lreg[1][16], 0x84D4128Cu);
}

TEST_F(SfpuTest, ConfigBroadcastsLReg0) {
  run(isa::SFPLOADI{.Imm16 = 0x4049, .Mod0 = 0, .VD = 0});
  run(isa::SFPCONFIG{.ConfigDest = 12});
  EXPECT_EQ(s.lreg[12][17], 0x40490000u);
  run(isa::SFPMOV{.Mod1 = 1, .VD = 3, .VC = 12});
  EXPECT_EQ(s.lreg[3][17], 0xC0490000u);
}

TEST_F(SfpuTest, RefusesWhatTtsimRefuses) {
  const auto kind = [&](const auto& insn) { return kind_of_fault(*state, kNone, insn); };
  EXPECT_EQ(kind(isa::SFPLOADMACRO{}), FaultKind::not_modelled);
  EXPECT_EQ(kind(isa::SFPPOPC{}), FaultKind::undefined_behaviour);
  for (u32 i = 0; i < 8; i++) run(isa::SFPPUSHC{});
  EXPECT_EQ(kind(isa::SFPPUSHC{}), FaultKind::undefined_behaviour);
  EXPECT_EQ(kind(isa::SFPPUSHC{.Mod1 = 3}), FaultKind::not_modelled);
  EXPECT_EQ(kind(isa::SFPENCC{.Mod1 = 2}), FaultKind::not_modelled);
  EXPECT_EQ(kind(isa::SFPMOV{.VD = 9}), FaultKind::not_modelled);
  EXPECT_EQ(kind(isa::SFPGT{.Mod1 = 2}), FaultKind::not_modelled);
  EXPECT_EQ(kind(isa::SFPSETCC{.Mod1 = 8}), FaultKind::not_modelled);
  EXPECT_EQ(kind(isa::SFPCONFIG{.ConfigDest = 4}), FaultKind::not_modelled);
  s.lreg[0][3] = 1;
  EXPECT_EQ(kind(isa::SFPCONFIG{.ConfigDest = 11}), FaultKind::not_modelled);
}

}  // namespace
}  // namespace baretile::sim
