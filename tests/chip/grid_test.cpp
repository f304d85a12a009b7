#include "chip/card.h"

namespace baretile {
namespace {

struct GridOnSimulator : OnSimulator {};

using testing::ElementsAre;
using testing::HasSubstr;

std::map<u32, u32> with(u32 tag, u32 value) {
  auto tags = kFullTelemetry;
  tags[tag] = value;
  return tags;
}
std::map<u32, u32> without(u32 tag) {
  auto tags = kFullTelemetry;
  tags.erase(tag);
  return tags;
}

// src: Coordinates.md: Tensix x 1-7 and 10-16, y 2-11, harvested columns at the highest x.
TEST(Grid, AllColumnsGive140TilesRowAfterRow) {
  Card card;
  const Chip chip = card.chip();
  ASSERT_EQ(chip.tiles().size(), 140u);
  EXPECT_EQ(chip.tiles()[0], (NocXY{1, 2}));
  EXPECT_EQ(chip.tiles()[6], (NocXY{7, 2}));
  EXPECT_EQ(chip.tiles()[7], (NocXY{10, 2}));
  EXPECT_EQ(chip.tiles()[14], (NocXY{1, 3}));
  EXPECT_EQ(chip.tiles()[139], (NocXY{16, 11}));
}

TEST(Grid, WhicheverColumnsAreOffTheHighestXAreGone) {
  for (const u32 mask : {0x3FFFu & ~3u, 0x0FFFu, 0x3FFFu & ~(1u << 4 | 1u << 9)}) {
    Card card(with(34, mask));
    Chip chip = card.chip();
    EXPECT_EQ(chip.columns(), 12u);
    EXPECT_EQ(chip.tiles().size(), 120u);
    EXPECT_EQ(chip.tiles()[11], (NocXY{14, 2}));
    EXPECT_EQ(chip.tiles()[12], (NocXY{1, 3}));
    EXPECT_THROW(chip.read32({15, 2}, 0), UsageError);
  }
}

TEST(Grid, ACardThatHidesItsColumnsIsNotGuessedAt) {
  for (const auto& tags : {without(34), with(34, 0), with(34, 0xFFFFFFFF)}) {
    Card card(tags);
    EXPECT_THAT(message_of<DeviceError>([&] { card.chip(); }), HasSubstr("telemetry tag 34"));
  }
}

TEST(Grid, EightBanksInTwoColumns) {
  Card card;
  EXPECT_THAT(card.chip().dram_banks(), ElementsAre(NocXY{17, 12}, NocXY{17, 15}, NocXY{17, 18}, NocXY{17, 21},
                                                    NocXY{18, 12}, NocXY{18, 15}, NocXY{18, 18}, NocXY{18, 21}));
}

TEST(Grid, WhicheverBankIsOffThePlaceAt1821IsEmpty) {
  for (const u32 mask : {0xFEu, 0x7Fu, 0xF7u}) {
    Card card(with(36, mask));
    Chip chip = card.chip();
    EXPECT_EQ(chip.dram_banks().size(), 7u);
    EXPECT_EQ(chip.dram_banks().back(), (NocXY{18, 18}));
    EXPECT_THROW(chip.read32({18, 21}, 0), UsageError);
  }
}

// src: Coordinates.md's pictures, of which that of the DRAM tiles has bank D2 fused off.
TEST(Grid, RawPlacesAreThoseOfTheChip) {
  auto tags = with(36, 0xFF & ~(1u << 2));
  tags[34] = 0x3FFF & ~(1u << 4 | 1u << 9);  // columns 3 and 12
  Card card(tags);
  const Chip chip = card.chip();
  constexpr u8 kLeft[] = {12, 13, 15, 17, 0, 18, 20, 19, 0, 0, 16, 14},
               kRight[] = {12, 13, 15, 17, 22, 18, 20, 19, 23, 21, 16, 14};  // translated y by row, 0: fused off
  for (u8 row = 0; row < 12; ++row) {
    if (kLeft[row] != 0) {
      EXPECT_EQ(chip.raw({18, kLeft[row]}), (NocXY{0, row}));
    }
    EXPECT_EQ(chip.raw({17, kRight[row]}), (NocXY{9, row}));
  }
  EXPECT_EQ(chip.raw({2, 5}), (NocXY{2, 5}));
  EXPECT_EQ(chip.raw({3, 5}), (NocXY{4, 5}));
  EXPECT_EQ(chip.raw({7, 11}), (NocXY{10, 11}));
  EXPECT_EQ(chip.raw({11, 2}), (NocXY{13, 2}));
  EXPECT_EQ(chip.raw(chip.tiles().back()), (NocXY{16, 11}));
  for (const NocXY none : {NocXY{15, 2}, NocXY{8, 2}, NocXY{18, 21}, NocXY{17, 24}, NocXY{19, 12}, NocXY{17, 11}})
    EXPECT_THROW(chip.raw(none), UsageError) << int(none.x) << "-" << int(none.y);
  Card whole;
  EXPECT_EQ(whole.chip().raw({17, 14}), (NocXY{0, 11}));
  EXPECT_EQ(whole.chip().raw({18, 22}), (NocXY{9, 7}));
}

TEST(Grid, FewerBanksThanAnyCardHasAreAnError) {
  Card card(with(36, 0x3F));
  EXPECT_THAT(message_of<DeviceError>([&] { card.chip(); }), HasSubstr("telemetry tag 36"));
}

TEST(Grid, LogicalCoordinatesSkipTheGap) {
  EXPECT_EQ(to_noc({0, 0}), (NocXY{1, 2}));
  EXPECT_EQ(to_noc({6, 9}), (NocXY{7, 11}));
  EXPECT_EQ(to_noc({7, 0}), (NocXY{10, 2}));
  EXPECT_EQ(to_logical({16, 11}), (LogicalXY{13, 9}));
  for (const NocXY other : {NocXY{8, 2}, NocXY{9, 5}, NocXY{0, 2}, NocXY{1, 1}, NocXY{1, 12}, NocXY{17, 12}})
    EXPECT_EQ(to_logical(other), std::nullopt);
  EXPECT_THROW(to_noc({14, 0}), UsageError);
  EXPECT_THROW(to_noc({0, 10}), UsageError);
}

TEST_P(GridOnSimulator, TilesKnowTheirPlace) {
  Chip chip = this->chip();
  // NIU 0's logical id register, src: NoC/MemoryMap.md.
  for (const NocXY tile : chip.tiles()) EXPECT_EQ(chip.read32(tile, 0xFFB20148) & 0xFFF, u32(tile.x | tile.y << 6));
}

INSTANTIATE_TEST_SUITE_P(On, GridOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
