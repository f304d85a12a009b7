#include "sim/math_replay.h"

namespace baretile::sim {
namespace {

TEST(FpuPool, ProgramsLeaveWhatTtsimLeft) { replay(diff::pool_case, "pool.bin"); }

struct Column {
  Column() {
    for (u32 k = 0; k < 16; k++) {
      state->src_a[0].rows[k][2] = src_of_fp32(bits_of(-3.0f - float(k)));
      state->src_b[0].rows[0][k] = src_of_fp32(bits_of(1.0f));
    }
  }
  std::unique_ptr<State> state = std::make_unique<State>();
  float pool(const Operands& o) {
    exec(*state, o, isa::GMPOOL{.Mod19 = 1});
    return float_of(o.fp32 ? fp32_of_dst(state->dst.read32(0, 2)) : u32{bf16_of_dst(state->dst.read16(0, 2))} << 16);
  }
};

TEST(FpuPool, AnEmptiedRowIsTheLowestValue) {
  Column x;
  exec(*x.state, {}, isa::ZEROACC{.ClearMode = 3});
  EXPECT_EQ(x.pool({}), -3.0f);
}

TEST(FpuPool, AValidRowTakesPartAndTheNextThreeAreZeroed) {
  Column x;
  for (u32 r = 0; r < 4; r++) x.state->dst.write32(r, 2, dst_of_fp32(bits_of(-2.0f)));
  EXPECT_EQ(x.pool({.fp32 = true}), -2.0f);
  for (u32 r = 1; r < 4; r++) EXPECT_EQ(x.state->dst.read32(r, 2), 0u);
}

TEST(FpuPool, OnlyTf32KeepsItsLowMantissaBits) {
  Column x;
  x.state->src_a[0].rows[9][2] = src_of_fp32(bits_of(1.0f + 0x1p-10f));
  exec(*x.state, {}, isa::ZEROACC{.ClearMode = 3});
  EXPECT_EQ(x.pool({.format_a = isa::Format::tf32, .fp32 = true}), 1.0f + 0x1p-10f);
  exec(*x.state, {}, isa::ZEROACC{.ClearMode = 3});
  EXPECT_EQ(x.pool({.format_a = isa::Format::bf16, .fp32 = true}), 1.0f);
}

TEST(FpuPool, RefusesScalesAndIndices) {
  Column x;
  EXPECT_EQ(kind_of_fault(*x.state, {}, isa::GMPOOL{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*x.state, {}, isa::GMPOOL{.MaxPoolIndexEn = 1, .Mod19 = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*x.state, {.format_a = isa::Format::fp16}, isa::GMPOOL{.Mod19 = 1}), FaultKind::not_modelled);
  x.state->src_b[0].rows[0][15] = src_of_fp32(bits_of(2.0f));
  EXPECT_EQ(kind_of_fault(*x.state, {}, isa::GMPOOL{.Mod19 = 1}), FaultKind::not_modelled);
}

}  // namespace
}  // namespace baretile::sim
