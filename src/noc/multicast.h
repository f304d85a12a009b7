// Sets of tiles as few multicast rectangles.
#pragma once
#include "baretile/chip.h"

namespace baretile::noc {

// Rectangles that together hold exactly `tiles` (Tensix, no duplicates, any order); none spans columns 8 and 9. The
// full grid needs two.
std::vector<NocRect> cover(std::span<const NocXY> tiles);
void multicast(Chip& chip, std::span<const NocRect> rects, u64 addr, std::span<const std::byte> data);

}  // namespace baretile::noc
