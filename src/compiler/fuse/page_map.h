// A view becomes free when it is affine over whole pages: then a kernel reads the stored pages in another order.
#pragma once
#include <optional>

#include "compiler/graph/layout.h"
#include "compiler/graph/view.h"

namespace baretile::compiler {

// The buffer that a view looks at.
struct Stored {
  Extents extents;
  Tiling tiling = Tiling::tile;
};

// What the reader of a page relies on.
struct Needs {
  bool zero_cols = false;  // beyond the last column seen, the page holds zeros
  bool zero_rows = false;
  bool broadcast = true;  // a repeated row or column may come as one page with an Access::broadcast
};

// The pages of `stored` that a kernel over the batch, rows and columns of `view` (three axes) reads; nothing if they
// would have to be cut or shifted. In Tiling::split the map's row index counts groups of four rows.
std::optional<Access> page_access(const View& view, const Extents& seen, const Stored& stored, Needs needs = {});

}  // namespace baretile::compiler
