#include "noc/coord.h"

#include <fmt/format.h>

#include "baretile/error.h"

namespace baretile::noc {

std::string name(NocXY tile) { return fmt::format("tile {}-{}", tile.x, tile.y); }

LogicalXY tile_at(const Chip& chip, u32 index) {
  if (index >= chip.tiles().size())
    throw UsageError(fmt::format("tile index {} is past the {} tiles of this chip", index, chip.tiles().size()));
  return {u8(index % chip.columns()), u8(index / chip.columns())};
}

u32 tile_index(const Chip& chip, LogicalXY tile) {
  const u32 index = tile.y * chip.columns() + tile.x;
  if (tile.x >= chip.columns() || index >= chip.tiles().size())
    throw UsageError(fmt::format("logical tile ({}, {}) is outside this chip's {} columns of {} rows", tile.x, tile.y,
                                 chip.columns(), chip.tiles().size() / chip.columns()));
  return index;
}

u32 tile_index(const Chip& chip, NocXY tile) {
  const std::optional<LogicalXY> logical = to_logical(tile);
  if (!logical) throw UsageError(fmt::format("{} is no Tensix tile", name(tile)));
  return tile_index(chip, *logical);
}

}  // namespace baretile::noc
