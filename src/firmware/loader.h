// Brings up the firmware of all tiles.
#pragma once
#include "baretile/abi.h"
#include "baretile/chip.h"

namespace baretile::firmware {

// All tiles of a chip in the order of their logical index; the last dispatches, the others work.
struct Grid {
  std::vector<NocXY> tiles;
  std::vector<NocRect> rects;  // that cover them
  NocXY dispatch() const { return tiles.back(); }
  u32 workers() const { return u32(tiles.size()) - 1; }
};

// Stops every core, loads and starts the firmware and waits until all tiles have answered. `park`: see abi::TileInfo.
Grid boot(Chip& chip, bool park);

// Holds every core in reset.
void stop(Chip& chip, const Grid& grid);

std::span<const std::byte> image();

}  // namespace baretile::firmware
