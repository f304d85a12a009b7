// Choosing and writing elements by index, as sums over a table of what was chosen.
#include <algorithm>
#include <utility>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

namespace {

// x with an axis and the last one changed over; twice, it is x.
Tensor swapped(const char* op, const Tensor& x, i64 axis) {
  std::vector<i64> axes(x.rank());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = i64(i);
  std::swap(axes[compiler::checked_axis(op, x.shape(), axis)], axes.back());
  return x.permute(axes);
}

Tensor gathered(const Tensor& x, const Tensor& index) {
  const Tensor chosen = one_hot(index, x.size(-1), DType::boolean);
  return sum(where(chosen, x.unsqueeze(-2), 0), -1).cast(without_blocks(x.dtype()));
}

// [..., places of x, indices]: whether that index means that place.
Tensor hits(const Tensor& x, const Tensor& index) {
  return equal(index.unsqueeze(-2), iota(x.runtime(), x.size(-1), index.dtype()).unsqueeze(1));
}

}  // namespace

Tensor gather(const Tensor& x, const Tensor& index, i64 axis) {
  return swapped("gather", gathered(swapped("gather", x, axis), swapped("gather", index, axis)), axis);
}

Tensor scatter(const Tensor& given, const Tensor& index, const Tensor& values, i64 axis) {
  const Tensor x = swapped("scatter", given, axis), at = swapped("scatter", index, axis);
  if (is_empty(at)) return given;
  const Tensor last = max(where(hits(x, at), iota(x.runtime(), at.size(-1)), -1), -1);  // of the indices of a place
  const Tensor value = gathered(swapped("scatter", values, axis).cast(without_blocks(x.dtype())), last);
  return swapped("scatter", where(last >= 0, value, x), axis);
}

Tensor scatter_add(const Tensor& given, const Tensor& index, const Tensor& values, i64 axis) {
  const Tensor x = swapped("scatter_add", given, axis), at = swapped("scatter_add", index, axis);
  const Tensor added = sum(where(hits(x, at), swapped("scatter_add", values, axis).unsqueeze(-2), 0), -1);
  return swapped("scatter_add", x + added, axis);
}

Tensor take(const Tensor& x, const Tensor& index) {
  return x.reshape({-1}).index_select(0, index.reshape({-1})).reshape(index.shape());
}

}  // namespace baretile
