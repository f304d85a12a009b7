#include "sim/tensix/fpu.h"

#include "sim/math_replay.h"
#include "sim/tensix/sfpu.h"

namespace baretile::sim {
namespace {

TEST(Fpu, ProgramsLeaveWhatTtsimLeft) { replay(diff::fpu_case, "fpu.bin"); }

TEST(Fpu, MvmulMatchesTtsim) { expect_recorded_products(best_fpu_kernels()); }

TEST(Fpu, RowsOfZerosInSrcBLeaveDstAloneButForDenormalsAndInfinities) {
  auto s = std::make_unique<State>();
  for (auto& row : s->src_a[0].rows) std::fill_n(row, kColumns, src_of_fp32(bits_of(3.0f)));
  s->src_a[0].touch();
  const u32 before[] = {0x3F9DF3B6, 0x80000000, 0x00001234, 0x7F812345, 0xFF7FFFFF, 0};
  const u32 after[] = {0x3F9DF3B6, 0, 0, 0x7F800000, 0xFF7FFFFF, 0};
  for (u32 c = 0; c < 6; c++) s->dst.write32(2, c, dst_of_fp32(before[c]));
  exec(*s, {.fp32 = true}, isa::MVMUL{});
  for (u32 c = 0; c < 6; c++) EXPECT_EQ(fp32_of_dst(s->dst.read32(2, c)), after[c]);
}

// The simulator remembers which blocks of Dst have nothing left to flush; whatever writes to one must make it forget.
TEST(Fpu, DenormalsThatComeBetweenProductsAreFlushedToo) {
  auto s = std::make_unique<State>();
  const auto flushes = [&] {
    exec(*s, {.fp32 = true}, isa::MVMUL{});
    return s->dst.read32(2, 0) == 0;
  };
  EXPECT_TRUE(flushes());
  s->dst.write32(2, 0, dst_of_fp32(0x00001234));
  EXPECT_TRUE(flushes());
  exec(*s, {}, isa::ZEROACC{.ClearMode = 3});
  s->dst.write32(2, 1, 0);  // brings the row back
  s->dst.rows[2][0] = 0x0100;
  EXPECT_TRUE(flushes());
  s->sfpu.lreg[0] = splat(0x00001234);
  exec(*s, {.sfpu_fp32 = true}, isa::SFPSTORE{.Mod0 = 4});
  EXPECT_EQ(s->dst.read32(2, 0), dst_of_fp32(0x00001234));
  EXPECT_TRUE(flushes());
}

TEST(Fpu, TheLowHalfOfAProductIsABf16DenormalToFlush) {
  auto s = std::make_unique<State>();
  s->src_a[0].rows[0][0] = s->src_b[0].rows[0][0] = src_of_fp32(bits_of(1.0f));
  s->dst.write32(0, 0, dst_of_fp32(bits_of(0x1p-15f)));
  const auto bf16_row_8 = [&] {
    exec(*s, {.row_b = 8}, isa::MVMUL{.DstRow = 8});
    return s->dst.rows[8][0];
  };
  EXPECT_EQ(bf16_row_8(), 0);
  exec(*s, {.fp32 = true}, isa::MVMUL{});
  EXPECT_EQ(s->dst.read32(0, 0), dst_of_fp32(bits_of(1.0f + 0x1p-15f)));
  EXPECT_EQ(s->dst.rows[8][0], 0x0100);
  EXPECT_EQ(bf16_row_8(), 0);
}

TEST(Fpu, EmptiedRowsCountAsZeroAndBecomeValid) {
  auto s = std::make_unique<State>();
  for (u32 c = 0; c < kColumns; c++) s->dst.write32(0, c, 0x12345678);
  std::fill_n(s->src_a[0].rows[0], kColumns, src_of_fp32(bits_of(2.0f)));
  s->src_b[0].rows[0][0] = src_of_fp32(bits_of(1.5f));
  s->src_a[0].touch();
  s->src_b[0].touch();
  exec(*s, {}, isa::ZEROACC{.ClearMode = 3});
  EXPECT_EQ(s->dst.read32(0, 5), 0u);
  exec(*s, {.fp32 = true}, isa::MVMUL{});
  EXPECT_TRUE(s->dst.valid(0));
  EXPECT_EQ(fp32_of_dst(s->dst.read32(0, 5)), bits_of(3.0f));
  EXPECT_EQ(s->dst.read32(1, 5), 0u);
}

TEST(Fpu, Int8ProductsNeedTheirFourPhases) {
  auto s = std::make_unique<State>();
  const auto int8 = [](i32 v) { return (v < 0 ? 1u << 18 : 0u) | u32(v < 0 ? -v : v) << 8 | (v ? 16u : 0u); };
  for (u32 k = 0; k < 16; k++) {
    s->src_a[0].rows[k][4] = int8(100 - i32(k));
    s->src_b[0].rows[1][k] = int8(i32(k) - 9);
  }
  s->src_a[0].touch();
  s->src_b[0].touch();
  exec(*s, {}, isa::ZEROACC{.ClearMode = 3});
  Operands o{.format_a = isa::Format::int8, .format_b = isa::Format::int8, .int8 = true};
  for (o.phase = 0; o.phase < 4; o.phase++) exec(*s, o, isa::MVMUL{});
  i32 expected = 0;
  for (i32 k = 0; k < 16; k++) expected += (100 - k) * (k - 9);
  EXPECT_EQ(fp32_of_dst(s->dst.read32(1, 4)), 0x80000000u | u32(-expected));  // sign and magnitude
}

TEST(Fpu, ElwaddRoundsToElevenBits) {
  auto s = std::make_unique<State>();
  s->src_a[0].rows[0][0] = src_of_fp32(bits_of(1.0f));
  s->src_b[0].rows[0][0] = src_of_fp32(bits_of(0x1p-11f));
  s->src_b[0].rows[0][1] = src_of_fp32(bits_of(0x1p-12f));
  s->src_a[0].rows[0][1] = src_of_fp32(bits_of(1.0f));
  exec(*s, {.format_a = isa::Format::tf32, .format_b = isa::Format::tf32, .fp32 = true}, isa::ELWADD{});
  EXPECT_EQ(fp32_of_dst(s->dst.read32(0, 0)), bits_of(1.0f + 0x1p-10f));  // a tie goes up
  EXPECT_EQ(fp32_of_dst(s->dst.read32(0, 1)), bits_of(1.0f));
}

TEST(Fpu, RefusesWhatTtsimRefuses) {
  auto s = std::make_unique<State>();
  const Operands plain;
  EXPECT_EQ(kind_of_fault(*s, plain, isa::MVMUL{.Mod19 = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, plain, isa::MVMUL{.DstRow = 4}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.row_a = 8}, isa::MVMUL{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.row_b = 4}, isa::MVMUL{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.keep_src_denormals = true}, isa::MVMUL{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.format_a = isa::Format::fp16}, isa::MVMUL{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.format_a = isa::Format::bfp2}, isa::MVMUL{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.int8 = true}, isa::ELWADD{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, plain, isa::ELWMUL{.DestAccum = 1}), FaultKind::undefined_behaviour);
  EXPECT_EQ(kind_of_fault(*s, {.phase = 1}, isa::ELWSUB{}), FaultKind::undefined_behaviour);
  EXPECT_EQ(kind_of_fault(*s, plain, isa::GAPOOL{}), FaultKind::not_modelled);
  s->src_a[0].rows[0][0] = src_of_fp32(bits_of(1.0f));  // eight exponent bits read as five
  EXPECT_EQ(kind_of_fault(*s, {.format_a = isa::Format::fp16, .format_b = isa::Format::fp16}, isa::MVMUL{}),
            FaultKind::not_modelled);
}

}  // namespace
}  // namespace baretile::sim
