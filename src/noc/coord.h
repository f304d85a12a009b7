// How errors name a tile.
#pragma once
#include "baretile/chip.h"

namespace baretile::noc {

std::string name(NocXY tile);  // "tile 3-4"

}  // namespace baretile::noc
