// Which rectangle of tiles shares out a product.
#include <gtest/gtest.h>

#include "noc/multicast.h"

namespace baretile {
namespace {

TEST(Team, TakesAsManyTilesAsBlocksWhereTheGridHasThem) {
  const noc::Team team = noc::team(8, 8, 14, 139, 64);
  EXPECT_EQ(team.rows, 8u);
  EXPECT_EQ(team.columns, 8u);
}

TEST(Team, SpreadsBlocksEvenlyOverTheRoundsTheyNeed) {
  const noc::Team team = noc::team(12, 30, 12, 119, 360);  // 2 x 3 rounds, also of 6 x 10
  EXPECT_EQ(team.rows, 6u);
  EXPECT_EQ(team.columns, 10u);
}

// The last tile of the last row dispatches.
TEST(Team, LeavesOutTilesThatAreNoWorkersAndNeedsNoMoreRoundsThanAnyOtherRectangle) {
  for (const u32 columns : {1u, 10u, 12u, 14u})
    for (const u32 workers : {1u, 5u, columns, 9 * columns, 10 * columns - 1})
      for (const u32 block_rows : {1u, 3u, 10u, 64u})
        for (const u32 block_columns : {1u, 7u, 13u, 50u})
          for (const u32 most : {1u, 4u, block_rows * block_columns}) {
            const auto rounds = [&](u32 rows, u32 cols) {
              return ceil_div(block_rows, rows) * ceil_div(block_columns, cols);
            };
            const noc::Team team = noc::team(block_rows, block_columns, columns, workers, most);
            ASSERT_LE((team.rows - 1) * columns + team.columns, workers);
            ASSERT_LE(team.columns, columns);
            ASSERT_LE(team.rows * team.columns, most);
            for (u32 r = 1; r <= block_rows; ++r)
              for (u32 c = 1; c <= std::min(columns, block_columns); ++c) {
                if (r * c > most || (r - 1) * columns + c > workers) continue;
                ASSERT_LE(rounds(team.rows, team.columns), rounds(r, c)) << r << " x " << c;
              }
          }
}

}  // namespace
}  // namespace baretile
