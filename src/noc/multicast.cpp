#include "noc/multicast.h"

#include <algorithm>

namespace baretile::noc {

// Rows become runs of neighbouring tiles; a run that continues the rectangle above it with the same x range extends it.
std::vector<NocRect> cover(std::span<const NocXY> tiles) {
  std::vector<NocXY> sorted(tiles.begin(), tiles.end());
  std::sort(sorted.begin(), sorted.end(), [](NocXY a, NocXY b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
  std::vector<NocRect> rects;
  for (size_t i = 0; i < sorted.size();) {
    NocRect run{sorted[i], sorted[i]};
    for (i++; i < sorted.size() && sorted[i].y == run.last.y && sorted[i].x == run.last.x + 1; i++)
      run.last = sorted[i];
    const auto above = std::find_if(rects.begin(), rects.end(), [&](const NocRect& r) {
      return r.first.x == run.first.x && r.last.x == run.last.x && r.last.y + 1 == run.first.y;
    });
    if (above == rects.end())
      rects.push_back(run);
    else
      above->last.y = run.last.y;
  }
  return rects;
}

void multicast(Chip& chip, std::span<const NocRect> rects, u64 addr, std::span<const std::byte> data) {
  for (const NocRect& rect : rects) chip.multicast(rect, addr, data);
}

}  // namespace baretile::noc
