// Sets of tiles as few multicast rectangles.
#pragma once
#include "baretile/chip.h"

namespace baretile::noc {

// Rectangles that together hold exactly `tiles` (Tensix, no duplicates, any order); none spans columns 8 and 9. The
// full grid needs two.
std::vector<NocRect> cover(std::span<const NocXY> tiles);
void multicast(Chip& chip, std::span<const NocRect> rects, u64 addr, std::span<const std::byte> data);

// A rectangle of a grid of `columns` tiles a row, from the first tile on.
struct Team {
  u32 rows = 1, columns = 1;
};

// The team of at most `most` of the grid's first `workers` tiles, counted row after row, that makes block_rows x
// block_columns blocks in the fewest rounds, with no more tiles than these rounds need.
Team team(u32 block_rows, u32 block_columns, u32 grid_columns, u32 workers, u32 most);

}  // namespace baretile::noc
