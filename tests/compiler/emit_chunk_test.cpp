#include <gmock/gmock.h>

#include "compiler/emit/chunk.h"

namespace baretile::compiler {
namespace {

using ValueKind = ChunkValue::Kind;

ChunkValue slot(u32 row, bool reusable = false) {
  return {.kind = ValueKind::slot, .place = {row, 0}, .reusable = reusable, .op = {}, .inputs = {}};
}
ChunkValue constant(float value) { return {.kind = ValueKind::constant, .constant = value, .op = {}, .inputs = {}}; }
ChunkValue op(const std::string& name, std::vector<u32> inputs) {
  return {.kind = ValueKind::op, .op = name, .inputs = std::move(inputs)};
}

// Prints a program over 64-row slots; new slots begin at row 256.
std::string print(ChunkProgram& program) {
  Code code;
  u32 row = 256 - 64;
  print_chunks(code, program, 64, [&] { return Place{row += 64, 0}; });
  return "\n" + code.text();
}

TEST(EmitChunk, WritesIntoTheSlotOfAnOperandThatIsNeededNoMore) {
  ChunkProgram p{{slot(0, true), slot(64), op("add", {0, 1})}, {{2, {}}}};
  EXPECT_EQ(print(p), R"(
for_chunks<64>([] {
  load<0, 0>();
  load<1, 64>();
  sfpu::add<0, 0, 1>();
  store_next<0, 0>();
});
)");
  EXPECT_EQ(p.targets[0].place, (Place{0, 0}));
}

TEST(EmitChunk, LeavesASlotAloneThatAnotherResultNeedsLater) {
  ChunkProgram p{{slot(0, true), op("neg", {0}), op("abs", {0})}, {{1, {}}, {2, {}}}};
  print(p);
  EXPECT_EQ(p.targets[0].place, (Place{256, 0}));
  EXPECT_EQ(p.targets[1].place, (Place{0, 0}));
}

TEST(EmitChunk, DoesNothingForAResultThatIsInPlaceAlready) {
  ChunkProgram p{{slot(0, true)}, {{0, {}}}};
  EXPECT_EQ(print(p), "\n");
  EXPECT_EQ(p.targets[0].place, (Place{0, 0}));
}

TEST(EmitChunk, KeepsConstantsInRegistersAroundTheLoopAndUsesThoseTheUnitHas) {
  ChunkProgram p{{slot(0, true), constant(1), constant(0.5f), op("mul", {0, 2}), op("add", {3, 1})}, {{4, {}}}};
  EXPECT_EQ(print(p), R"(
load_bits<0, 0x3F000000>();  // 0.5
for_chunks<64>([] {
  load<1, 0>();
  sfpu::mul<1, 1, 0>();
  sfpu::add<1, 1, 10>();
  store_next<1, 0>();
});
)");
}

TEST(EmitChunk, TakesOperandCountsAndTemporariesFromTheOperationsHeader) {
  ChunkProgram p{{slot(0), op("exp", {0}), op("maximum", {0, 1})}, {{2, {}}}};
  EXPECT_EQ(print(p), R"(
for_chunks<64>([] {
  load<0, 0>();
  sfpu::exp<1, 0, 2, 3, 4>();
  sfpu::maximum<0, 0, 1, 2>();
  store_next<0, 256>();
});
)");
}

// Nine values that are all needed again, so that some go to Dst and come back.
TEST(EmitChunk, SpillsWhatIsNeededLastAndBringsItBack) {
  ChunkProgram p{{slot(0)}, {}};
  for (u32 n = 0; n < 9; ++n) p.values.push_back(op("neg", {n}));
  u32 sum = 1;
  for (u32 n = 2; n <= 9; ++n) {
    p.values.push_back(op("sub", {sum, n}));
    sum = u32(p.values.size()) - 1;
  }
  p.values.push_back(op("maximum", {sum, 9}));
  p.targets.push_back({u32(p.values.size()) - 1, {}});
  // Evaluating the first target's operands first computes all negations before the differences.
  p.targets.insert(p.targets.begin(), {9, Place{64, 0}});
  const std::string text = print(p);
  size_t spills = 0, reloads = 0;
  for (size_t at = text.find(", 320>"); at != std::string::npos; at = text.find(", 320>", at + 1)) {
    ++(text.substr(text.rfind('\n', at), 9).find("store") != std::string::npos ? spills : reloads);
  }
  EXPECT_EQ(spills, 1u) << text;
  EXPECT_GE(reloads, 1u) << text;
}

}  // namespace
}  // namespace baretile::compiler
