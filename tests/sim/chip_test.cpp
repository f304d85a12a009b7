#include "sim/chip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;

class Grid : public testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Grid, testing::Values(110, 120, 130, 140));

TEST_P(Grid, HarvestedColumnsTakeTheHighestTranslatedX) {
  Board board({.tiles = GetParam(), .banks = 8});
  EXPECT_EQ(board.chip.tiles(), GetParam());
  const u32 columns = GetParam() / 10;
  std::set<u32> raw_columns;
  for (u32 k = 0; k < 14; ++k) {
    const u32 x = isa::kTensixColumns[k];
    if (k >= columns) {
      EXPECT_THAT(fault_of([&] { board.chip.at({x, 2}); }), HasSubstr("is harvested (telemetry tag 34)"));
      continue;
    }
    for (u32 y = 2; y <= 11; ++y) {
      EXPECT_EQ(board.read32(isa::kNiuBase + isa::kNiuLogicalId, x, y), isa::noc_coord(x, y));
      EXPECT_EQ(board.read32(isa::kNiuBase + isa::kNiuNodeId, x, y) >> 6 & 63, y);
    }
    raw_columns.insert(board.read32(isa::kNiuBase + isa::kNiuNodeId, x, 2) & 63);
  }
  EXPECT_EQ(raw_columns.size(), columns);
  EXPECT_EQ(board.chip.tiles_in({{1, 2}, {16, 11}}).size(), GetParam());
}

TEST(Chip, ThreePortsOfABankShareItsMemory) {
  Board board;
  for (u32 b = 0; b < 8; ++b) board.write32(0x1000, 100 + b, b < 4 ? 17 : 18, 12 + 3 * (b % 4));
  for (u32 b = 0; b < 8; ++b)
    for (u32 port = 0; port < 3; ++port)
      EXPECT_EQ(board.read32(0x1000, b < 4 ? 17 : 18, 12 + 3 * (b % 4) + port), 100 + b);
  EXPECT_EQ(board.read32(0x1000, 9, 5), 102u) << "raw coordinates as on ttsim v1.10";
  EXPECT_EQ(board.read32(0x1000, 0, 1), 104u);
}

TEST(Chip, WithSevenBanksTheLastSlotIsDead) {
  Board board({.tiles = 120, .banks = 7});
  board.read32(0, 18, 20);
  for (u32 y = 21; y < 24; ++y) EXPECT_THAT(fault_of([&] { board.read32(0, 18, y); }), HasSubstr("no tile there"));
}

TEST(Chip, PlacesThatAreNotModelledSaySo) {
  Board board;
  EXPECT_THAT(fault_of([&] { board.read32(0, 20, 25); }), HasSubstr("NotModelled: NoC coordinate (20,25): Ethernet"));
  EXPECT_THAT(fault_of([&] { board.read32(0, 8, 26); }), HasSubstr("NotModelled"));
  EXPECT_THAT(fault_of([&] { board.read32(0, 40, 70); }), HasSubstr("no tile there"));
}

TEST(Chip, TheEnvironmentChoosesTheShape) {
  setenv("BARETILE_SIM_GRID", "110x7", 1);
  EXPECT_EQ(shape_from_environment().tiles, 110u);
  EXPECT_EQ(shape_from_environment().banks, 7u);
  for (const char* wrong : {"115x8", "110x6", "110", "110x7 ", ""}) {
    setenv("BARETILE_SIM_GRID", wrong, 1);
    EXPECT_THAT(fault_of([] { shape_from_environment(); }),
                HasSubstr(fmt::format("BARETILE_SIM_GRID={}: use 110, 120, 130 or 140 tiles", wrong)));
  }
  unsetenv("BARETILE_SIM_GRID");
  EXPECT_EQ(shape_from_environment().tiles, 120u);
}

}  // namespace
}  // namespace baretile::sim
