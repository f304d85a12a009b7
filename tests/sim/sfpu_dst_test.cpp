#include "diff/sfpu_cases.h"
#include "sim/math_replay.h"
#include "sim/tensix/sfpu.h"

namespace baretile::sim {
namespace {

TEST(SfpuDst, ProgramsLeaveWhatTtsimLeft) { replay(diff::sfpu_dst_case, "sfpu_dst.bin"); }

TEST(SfpuDst, AnAddressCoversFourRowsOfEvenOrOddColumns) {
  auto s = std::make_unique<State>();
  for (u32 r = 0; r < 16; r++)
    for (u32 c = 0; c < kColumns; c++) s->dst.write32(r, c, dst_of_fp32(100 * r + c));
  exec(*s, {.row_dst = 4}, isa::SFPLOAD{.Addr = 6, .Mod0 = 4, .VD = 1});
  for (u32 lane = 0; lane < kLanes; lane++) EXPECT_EQ(s->sfpu.lreg[1][lane], 100 * (8 + lane / 8) + 2 * (lane % 8) + 1);
}

TEST(SfpuDst, StoresTruncateAndFlush) {
  auto s = std::make_unique<State>();
  s->sfpu.lreg[0] = splat(0xBF80FFFF);
  s->sfpu.lreg[1] = splat(0x80012345);
  exec(*s, {}, isa::SFPSTORE{.Addr = 0, .Mod0 = 2, .VD = 0});
  EXPECT_EQ(bf16_of_dst(s->dst.read16(0, 0)), 0xBF80);
  exec(*s, {}, isa::SFPSTORE{.Addr = 0, .Mod0 = 3, .VD = 1});
  EXPECT_EQ(fp32_of_dst(s->dst.read32(0, 0)), 0x80000000u);
  exec(*s, {}, isa::SFPSTORE{.Addr = 0, .Mod0 = 4, .VD = 1});
  EXPECT_EQ(fp32_of_dst(s->dst.read32(0, 0)), 0x80012345u);
}

TEST(SfpuDst, Mode0GoesByTheConfiguration) {
  auto s = std::make_unique<State>();
  s->sfpu.lreg[0] = splat(bits_of(1.5f));
  exec(*s, {.configured_b = isa::Format::fp16}, isa::SFPSTORE{.VD = 0});
  EXPECT_EQ(fp16_of_dst(s->dst.read16(0, 0)), 0x3E00);
  exec(*s, {.configured_b = isa::Format::bf16}, isa::SFPSTORE{.VD = 0});
  EXPECT_EQ(bf16_of_dst(s->dst.read16(0, 0)), 0x3FC0);
  exec(*s, {.sfpu_fp32 = true}, isa::SFPSTORE{.VD = 0});
  EXPECT_EQ(fp32_of_dst(s->dst.read32(0, 0)), bits_of(1.5f));
  EXPECT_EQ(kind_of_fault(*s, {.configured_b = isa::Format::tf32}, isa::SFPLOAD{}), FaultKind::not_modelled);
}

TEST(SfpuDst, DisabledLanesKeepDst) {
  auto s = std::make_unique<State>();
  exec(*s, {}, isa::SFPSETCC{.Mod1 = 6, .VC = 15});  // only lane 0 holds zero
  exec(*s, {}, isa::SFPSTORE{.Mod0 = 6, .VD = 10});
  exec(*s, {}, isa::SFPENCC{.Mod1 = 10, .Imm12 = 3});
  s->sfpu.lreg[0] = splat(7);
  exec(*s, {}, isa::SFPSTORE{.Addr = 4, .Mod0 = 6, .VD = 0});
  EXPECT_EQ(s->dst.read16(0, 2), 0);
  EXPECT_EQ(s->dst.read16(4, 2), 7);
}

TEST(SfpuDst, APartOfAnEmptiedRowBringsTheRestBack) {
  auto s = std::make_unique<State>();
  for (u32 c = 0; c < kColumns; c++) s->dst.write16(0, c, 0x1234);
  exec(*s, {}, isa::ZEROACC{.ClearMode = 3});
  EXPECT_EQ(s->dst.read16(0, 1), 0);
  exec(*s, {}, isa::SFPSTORE{.Addr = 0, .Mod0 = 6, .VD = 9});  // even columns
  EXPECT_EQ(s->dst.read16(0, 0), 0);
  EXPECT_EQ(s->dst.read16(0, 1), 0x1234);
}

TEST(SfpuDst, ImmediatesFillOrPatchARegister) {
  auto s = std::make_unique<State>();
  const auto load = [&](u32 mode, u32 imm) {
    exec(*s, {}, isa::SFPLOADI{.Imm16 = imm, .Mod0 = mode, .VD = 5});
    return s->sfpu.lreg[5][20];
  };
  EXPECT_EQ(load(0, 0x3F80), bits_of(1.0f));
  EXPECT_EQ(load(1, 0xBE00), bits_of(-1.5f));
  EXPECT_EQ(load(2, 0x8001), 0x8001u);
  EXPECT_EQ(load(4, 0x8001), 0xFFFF8001u);
  EXPECT_EQ(load(8, 0x1234), 0x12348001u);
  EXPECT_EQ(load(10, 0x5678), 0x12345678u);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::SFPLOADI{.Mod0 = 3}), FaultKind::not_modelled);
}

}  // namespace
}  // namespace baretile::sim
