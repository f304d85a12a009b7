#include "noc/multicast.h"

#include <random>
#include <set>

#include "chip/card.h"

namespace baretile {
namespace {

struct MulticastOnSimulator : OnSimulator {};

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<NocXY> grid(u32 columns) {
  std::vector<NocXY> tiles;
  for (u8 y = 0; y < 10; y++)
    for (u8 x = 0; x < columns; x++) tiles.push_back(to_noc({x, y}));
  return tiles;
}

TEST(Cover, TheFullGridIsOneRectangleOnEachSideOfTheGap) {
  EXPECT_THAT(noc::cover(grid(14)), UnorderedElementsAre(NocRect{{1, 2}, {7, 11}}, NocRect{{10, 2}, {16, 11}}));
  EXPECT_THAT(noc::cover(grid(12)), UnorderedElementsAre(NocRect{{1, 2}, {7, 11}}, NocRect{{10, 2}, {14, 11}}));
}

TEST(Cover, LeavingOutTheLastTileCostsOneMore) {
  auto tiles = grid(14);
  tiles.pop_back();
  EXPECT_THAT(noc::cover(tiles),
              UnorderedElementsAre(NocRect{{1, 2}, {7, 11}}, NocRect{{10, 2}, {16, 10}}, NocRect{{10, 11}, {15, 11}}));
}

TEST(Cover, SmallSets) {
  EXPECT_TRUE(noc::cover({}).empty());
  EXPECT_THAT(noc::cover(std::vector<NocXY>{{5, 5}}), ElementsAre(NocRect{{5, 5}, {5, 5}}));
  EXPECT_EQ(noc::cover(std::vector<NocXY>{{7, 2}, {10, 2}}).size(), 2u) << "neighbours only in logical coordinates";
}

TEST(Cover, HoldsEachTileOnceAndNoOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; round++) {
    std::vector<NocXY> tiles = grid(14);
    std::shuffle(tiles.begin(), tiles.end(), random);
    tiles.resize(random() % 141);
    std::multiset<std::pair<int, int>> wanted, covered;
    for (const NocXY t : tiles) wanted.insert({t.x, t.y});
    for (const NocRect& r : noc::cover(tiles)) {
      EXPECT_EQ(r.first.x < 8, r.last.x < 8);
      for (int y = r.first.y; y <= r.last.y; y++)
        for (int x = r.first.x; x <= r.last.x; x++) covered.insert({x, y});
    }
    ASSERT_EQ(covered, wanted);
  }
}

TEST_P(MulticastOnSimulator, MulticastReachesTheSetAndNothingElse) {
  Chip chip = this->chip();
  std::vector<NocXY> some;
  for (u32 i = 0; i < chip.tiles().size(); i++)
    if (i % 5 != 3) some.push_back(chip.tiles()[i]);
  for (const NocXY t : chip.tiles()) chip.write32(t, 0x2000, 1);
  noc::multicast(chip, noc::cover(some), 0x2000, bytes_of(u32{2}));
  for (u32 i = 0; i < chip.tiles().size(); i++) EXPECT_EQ(chip.read32(chip.tiles()[i], 0x2000), i % 5 != 3 ? 2u : 1u);
}

TEST_P(MulticastOnSimulator, MulticastCostsAsManyAccessesAsRectangles) {
  Chip chip = this->chip();
  const auto rects = noc::cover(chip.tiles());
  const std::vector<std::byte> data(4096);
  noc::multicast(chip, rects, 0x2000, data);
  const u64 before = chip.host_accesses();
  noc::multicast(chip, rects, 0x2000, data);
  EXPECT_EQ(chip.host_accesses() - before, 2u);
}

INSTANTIATE_TEST_SUITE_P(On, MulticastOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
