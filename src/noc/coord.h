// Tile index <-> coordinates: tiles are counted row after row over the live columns.
#pragma once
#include "baretile/chip.h"

namespace baretile::noc {

LogicalXY tile_at(const Chip& chip, u32 index);    // UsageError past the last tile
u32 tile_index(const Chip& chip, LogicalXY tile);  // UsageError outside the grid
u32 tile_index(const Chip& chip, NocXY tile);      // UsageError for anything but a live Tensix tile
std::string name(NocXY tile);                      // "tile 3-4", as errors print it

}  // namespace baretile::noc
