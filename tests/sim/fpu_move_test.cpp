#include <algorithm>

#include "sim/math_replay.h"

namespace baretile::sim {
namespace {

using isa::Format;

TEST(FpuMove, Tf32TravelsFromSrcAToA32BitDstAndBack) {
  auto s = std::make_unique<State>();
  for (u32 r = 0; r < 8; r++)
    for (u32 c = 0; c < kColumns; c++) s->src_a[0].rows[8 + r][c] = (r * 100 + c * 37) % 1024 << 8 | (1 + r);
  const Operands o{.format_a = Format::tf32, .format_b = Format::tf32, .fp32 = true};
  exec(*s, o, isa::MOVA2D{.DstRow = 16, .InstrMod = 2, .SrcRow = 8});
  exec(*s, o, isa::MOVD2B{.DstRow = 20, .InstrMod = 2, .SrcRow = 12});
  for (u32 r = 0; r < 4; r++)
    for (u32 c = 0; c < kColumns; c++) EXPECT_EQ(s->src_b[0].rows[12 + r][c], s->src_a[0].rows[12 + r][c]);
}

TEST(FpuMove, Bf16GoesTo16BitRowsWhateverTheWidthOfDst) {
  auto s = std::make_unique<State>();
  s->src_a[0].rows[0][0] = src_of_fp32(bits_of(-2.5f));
  exec(*s, {.format_a = Format::bf16, .fp32 = true}, isa::MOVA2D{.DstRow = 8, .InstrMod = 2});
  EXPECT_EQ(bf16_of_dst(s->dst.read16(8, 0)), bits_of(-2.5f) >> 16);
}

TEST(FpuMove, DenormalsGoUnlessKept) {
  auto s = std::make_unique<State>();
  s->src_b[0].rows[0][0] = 0x7F800;  // -0 with mantissa bits
  exec(*s, {.format_b = Format::tf32}, isa::MOVB2D{.InstrMod = 4});
  EXPECT_EQ(s->dst.read16(0, 0), 0);
  exec(*s, {.format_b = Format::tf32, .keep_src_denormals = true}, isa::MOVB2D{.InstrMod = 4});
  EXPECT_EQ(s->dst.read16(0, 0), 0xFF00);
}

TEST(FpuMove, MovB2DBroadcasts) {
  auto s = std::make_unique<State>();
  for (u32 c = 0; c < kColumns; c++) s->src_b[0].rows[8][c] = src_of_fp32(bits_of(float(c + 1)));
  exec(*s, {}, isa::MOVB2D{.InstrMod = 2, .SrcRow = 8});
  EXPECT_EQ(bf16_of_dst(s->dst.read16(7, 3)), bits_of(4.0f) >> 16);
  exec(*s, {}, isa::MOVB2D{.InstrMod = 3, .SrcRow = 8});
  EXPECT_EQ(bf16_of_dst(s->dst.read16(7, 3)), bits_of(1.0f) >> 16);
}

TEST(FpuMove, TransposesSrcBRows16To31) {
  auto s = std::make_unique<State>();
  for (u32 r = 0; r < 16; r++)
    for (u32 c = 0; c < kColumns; c++) s->src_b[0].rows[16 + r][c] = 16 * r + c;
  const u64 generation = s->src_b[0].generation;
  exec(*s, {}, isa::TRNSPSRCB{});
  for (u32 r = 0; r < 16; r++)
    for (u32 c = 0; c < kColumns; c++) EXPECT_EQ(s->src_b[0].rows[16 + r][c], 16 * c + r);
  EXPECT_GT(s->src_b[0].generation, generation);
}

// First and count of the 16-bit rows an instruction empties, as seen on ttsim.
std::vector<u32> emptied(const Operands& o, const isa::ZEROACC& insn) {
  auto s = std::make_unique<State>();
  exec(*s, o, insn);
  std::vector<u32> rows;
  for (u32 r = 0; r < kDstRows; r++)
    if (!s->dst.valid(r)) rows.push_back(r);
  return rows;
}
std::vector<u32> range(u32 first, u32 count) {
  std::vector<u32> rows(count);
  for (u32 i = 0; i < count; i++) rows[i] = first + i;
  return rows;
}

TEST(FpuMove, ZeroaccEmptiesWhatTtsimEmpties) {
  EXPECT_EQ(emptied({.row_dst = 8}, {.Where = 1}), range(9, 1));
  EXPECT_EQ(emptied({.row_dst = 16, .fp32 = true}, {.Where = 0}), range(32, 1));
  EXPECT_EQ(emptied({.dst_offset = 256}, {.Where = 1, .ClearMode = 1}), range(16, 16));
  EXPECT_EQ(emptied({.dst_offset = 512}, {.Where = 1, .ClearMode = 1}), range(528, 16));
  EXPECT_EQ(emptied({.dst_offset = 512}, {.Where = 1, .ClearMode = 2}), range(512, 512));
  EXPECT_EQ(emptied({}, {.ClearMode = 3}), range(0, 1024));
  std::vector<u32> wide = range(32, 8);  // 32-bit rows 16 … 31: only their high halves
  std::ranges::copy(range(48, 8), std::back_inserter(wide));
  EXPECT_EQ(emptied({}, {.Where = 1, .Use32BitMode = 1, .ClearMode = 1}), wide);
  EXPECT_EQ(emptied({.dst_offset = 256}, {.Where = 0, .Use32BitMode = 1, .ClearMode = 1}).front(), 512u);
}

TEST(FpuMove, ZerosrcClearsTheMatrixUnitsBank) {
  auto s = std::make_unique<State>();
  s->src_a[0].rows[5][5] = s->src_a[1].rows[5][5] = s->src_b[1].rows[5][5] = 7;
  exec(*s, {.bank_a = 1}, isa::ZEROSRC{.SrcMask = 1, .WriteMode = 1});
  EXPECT_EQ(s->src_a[0].rows[5][5], 7u);
  EXPECT_EQ(s->src_a[1].rows[5][5], 0u);
  EXPECT_EQ(s->src_b[1].rows[5][5], 7u);
  exec(*s, {}, isa::ZEROSRC{.SrcMask = 3, .BankMask = 1});
  EXPECT_EQ(s->src_b[1].rows[5][5], 0u);
}

TEST(FpuMove, RefusesWhatTtsimRefuses) {
  auto s = std::make_unique<State>();
  EXPECT_EQ(kind_of_fault(*s, {}, isa::MOVA2D{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::MOVA2D{.DstRow = 3, .InstrMod = 2}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.format_a = Format::tf32}, isa::MOVA2D{.InstrMod = 2, .Lo16 = 1}),
            FaultKind::undefined_behaviour);
  EXPECT_EQ(kind_of_fault(*s, {.format_a = Format::int8}, isa::MOVB2D{.InstrMod = 4}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::MOVB2D{.InstrMod = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {.format_a = Format::tf32}, isa::MOVD2A{.InstrMod = 2}), FaultKind::undefined_behaviour);
  EXPECT_EQ(
      kind_of_fault(*s, {.format_a = Format::fp16, .format_b = Format::fp16, .fp32 = true}, isa::MOVD2B{.InstrMod = 2}),
      FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::MOVB2A{}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::ZEROACC{.Where = 64, .ClearMode = 1}), FaultKind::undefined_behaviour);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::ZEROACC{.ClearZeroFlags = 1}), FaultKind::undefined_behaviour);
  EXPECT_EQ(kind_of_fault(*s, {}, isa::ZEROSRC{.SrcMask = 1, .BankMask = 1}), FaultKind::not_modelled);
}

}  // namespace
}  // namespace baretile::sim
