#include "noc/coord.h"

#include <fmt/format.h>

namespace baretile::noc {

std::string name(NocXY tile) { return fmt::format("tile {}-{}", tile.x, tile.y); }

}  // namespace baretile::noc
