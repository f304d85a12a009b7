#include "noc/coord.h"

#include "chip/card.h"

namespace baretile {
namespace {

TEST(Coord, IndexAndCoordinatesAgreeWithTheListOfTiles) {
  auto tags = kFullTelemetry;
  tags[34] = 0x0FFF;  // 12 columns
  Card card(tags);
  const Chip chip = card.chip();
  for (u32 i = 0; i < chip.tiles().size(); i++) {
    EXPECT_EQ(to_noc(noc::tile_at(chip, i)), chip.tiles()[i]);
    EXPECT_EQ(noc::tile_index(chip, noc::tile_at(chip, i)), i);
    EXPECT_EQ(noc::tile_index(chip, chip.tiles()[i]), i);
  }
  EXPECT_EQ(noc::tile_at(chip, 13), (LogicalXY{1, 1}));
}

TEST(Coord, RefusesWhatIsNoLiveTile) {
  auto tags = kFullTelemetry;
  tags[34] = 0x0FFF;
  Card card(tags);
  const Chip chip = card.chip();
  EXPECT_THROW(noc::tile_at(chip, 120), UsageError);
  EXPECT_THROW(noc::tile_index(chip, LogicalXY{12, 0}), UsageError);
  EXPECT_THROW(noc::tile_index(chip, LogicalXY{0, 10}), UsageError);
  EXPECT_THROW(noc::tile_index(chip, NocXY{15, 2}), UsageError) << "a harvested column";
  EXPECT_THROW(noc::tile_index(chip, NocXY{9, 2}), UsageError);
}

TEST(Coord, NamesATileAsErrorsPrintIt) { EXPECT_EQ(noc::name({3, 4}), "tile 3-4"); }

}  // namespace
}  // namespace baretile
