// How a tensor is cut into pages: which tiling a shape gets, and how many pages that makes.
#pragma once
#include "compiler/graph/graph.h"

namespace baretile::compiler {

constexpr i64 page_rows(Tiling tiling) { return tiling == Tiling::tile ? 32 : tiling == Tiling::row ? 1 : 4; }

// Matrices of one row must not cost 32.
inline Tiling default_tiling(const Shape& shape) { return extents(shape).rows == 1 ? Tiling::row : Tiling::tile; }

// Pages of a tensor: `batch` matrices of rows x cols pages, in that order.
constexpr Extents page_grid(const Extents& elements, Tiling tiling) {
  return {elements.batch, i64(ceil_div(u64(elements.rows), u64(page_rows(tiling)))),
          i64(ceil_div(u64(elements.cols), 32))};
}
inline u64 page_count(const Shape& shape, Tiling tiling) {
  Extents grid = page_grid(extents(shape), tiling);
  return u64(grid.batch * grid.rows * grid.cols);
}

}  // namespace baretile::compiler
