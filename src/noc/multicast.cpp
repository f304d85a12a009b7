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

Team team(u32 block_rows, u32 block_columns, u32 grid_columns, u32 workers, u32 most) {
  Team best;
  u64 fewest = UINT64_MAX;
  for (u32 rows = 1; rows <= std::min(block_rows, most) && (rows - 1) * grid_columns < workers; ++rows) {
    const u32 columns = std::min({block_columns, grid_columns, workers - (rows - 1) * grid_columns, most / rows});
    const u64 down = ceil_div(block_rows, rows), across = ceil_div(block_columns, columns);
    if (down * across >= fewest) continue;
    fewest = down * across;
    best = {u32(ceil_div(block_rows, down)), u32(ceil_div(block_columns, across))};
  }
  return best;
}

}  // namespace baretile::noc
