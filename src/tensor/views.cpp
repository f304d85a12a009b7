// Constants and views that are expressions of others.
#include <fmt/format.h>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::checked_axis;
using compiler::to_string;

Tensor Tensor::ones(Runtime& runtime, Shape shape, DType dtype) { return full(runtime, std::move(shape), 1, dtype); }
Tensor Tensor::full(Runtime& runtime, Shape shape, double value, DType dtype) {
  return filled(&runtime, std::move(shape), value, dtype);
}

Tensor Tensor::unsqueeze(i64 axis) const {
  Shape wider = shape();
  wider.insert(wider.begin(), 1);  // room for the axis behind the last
  const size_t at = checked_axis("unsqueeze", wider, axis);
  wider = shape();
  wider.insert(wider.begin() + i64(at), 1);
  return reshape(std::move(wider));
}

Tensor Tensor::squeeze(i64 axis) const {
  Shape narrower = shape();
  const size_t at = checked_axis("squeeze", narrower, axis);
  if (narrower[at] != 1)
    throw UsageError(fmt::format("squeeze: axis {} of {} is not 1; only such axes can go.", at, to_string(shape())));
  narrower.erase(narrower.begin() + i64(at));
  return reshape(std::move(narrower));
}

Tensor Tensor::pad(i64 axis, i64 before, i64 after, double value) const {
  const size_t at = checked_axis("pad", shape(), axis);
  if (before < 0 || after < 0)
    throw UsageError(fmt::format("pad: {} before and {} after axis {} of {}; slice to take away.", before, after, at,
                                 to_string(shape())));
  std::vector<Tensor> parts{*this};
  const auto border = [&](i64 extent) {
    Shape part = shape();
    part[at] = extent;
    return filled(runtime(), std::move(part), value, without_blocks(dtype()));
  };
  if (before > 0) parts.insert(parts.begin(), border(before));
  if (after > 0) parts.push_back(border(after));
  return concat(parts, i64(at));
}

Tensor Tensor::index_select(i64 axis, const Tensor& index) const {
  const size_t at = checked_axis("index_select", shape(), axis);
  std::vector<i64> order{i64(at)}, back;
  for (i64 i = 0; i < i64(rank()); ++i) {
    if (i != i64(at)) order.push_back(i);
    back.push_back(i == i64(at) ? 0 : i < i64(at) ? i + 1 : i);
  }
  const Tensor by_row = permute(order);
  Shape out = by_row.shape();
  out[0] = 1;
  const i64 columns = compiler::element_count(out);
  out[0] = index.size(0);
  return gather_rows(by_row.reshape({size(axis), columns}), index).reshape(std::move(out)).permute(back);
}

}  // namespace baretile
