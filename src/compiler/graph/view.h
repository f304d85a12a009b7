// Views as affine maps: where element (i0, i1, …) of a reshaped, permuted, sliced, flipped or expanded tensor lies in
// the row-major order of the tensor it was made from.
#pragma once
#include <optional>

#include "compiler/graph/graph.h"
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

// Each axis is a mixed-radix index, innermost digit first, strides in elements. Kept canonical: no digit of size 1, no
// two neighbours that one digit could express.
struct View {
  i64 offset = 0;
  std::vector<std::vector<Digit>> axes;
  bool operator==(const View& other) const;
};

// Adds a digit outside of `digits`, keeping them canonical.
void append(std::vector<Digit>& digits, Digit next);

View contiguous(const Shape& shape);

// What a VIEW node makes of a view of its input; nothing if that is no affine map (the input must be copied first).
std::optional<View> apply(const Node& node, const View& input);

std::optional<View> reshaped(const View& input, const Shape& shape);

}  // namespace baretile::compiler
