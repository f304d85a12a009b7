// Sequences, and views and moves that are expressions of others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::checked_axis;
using compiler::to_string;

Tensor Tensor::arange(Runtime& runtime, double first, double end, double step, DType dtype) {
  const double count = std::max(std::ceil((end - first) / step), 0.0);
  if (!(count <= INT32_MAX))
    throw UsageError(fmt::format("arange: from {} to {} by {} are {} elements; give a step that gets there.", first,
                                 end, step, count));
  if (!is_integer(dtype)) return (iota(&runtime, i64(count), DType::fp32) * step + first).cast(dtype);
  const auto word = [&](double value) {  // modulo 2^32, as the integers of the tensor are
    if (std::trunc(value) != value || std::abs(value) > UINT32_MAX)
      throw UsageError(
          fmt::format("arange: {} is no {}; give whole numbers, or another dtype.", value, to_string(dtype)));
    return dtype == DType::uint32 ? double(u32(i64(value))) : double(i32(u32(i64(value))));
  };
  return iota(&runtime, i64(count), dtype) * word(step) + word(first);
}

Tensor Tensor::linspace(Runtime& runtime, double first, double last, i64 count, DType dtype) {
  if (count < 2) return full(runtime, {count}, first, dtype);
  // From the nearer end on, so that both are exact, by a step in two parts: products of the first, of 12 bits, are
  // exact.
  const double step = (last - first) / double(count - 1);
  const double unit = step == 0 ? 1 : std::exp2(std::ilogb(step) - 11), rough = std::round(step / unit) * unit;
  const Tensor n = iota(&runtime, count), near = less(n, double((count + 1) / 2));
  const Tensor steps = where(near, n, n - double(count - 1)).cast(DType::fp32);
  return (where(near, first, last) + steps * rough + steps * (step - rough)).cast(dtype);
}

Tensor Tensor::eye(Runtime& runtime, i64 rows, i64 cols, DType dtype) {
  return equal(iota(&runtime, rows).unsqueeze(1), iota(&runtime, cols)).cast(dtype);
}

Tensor Tensor::tri(Runtime& runtime, i64 rows, i64 cols, i64 diagonal, DType dtype) {
  return tril(ones(runtime, {rows, cols}, dtype), diagonal);
}

std::vector<Tensor> Tensor::split(i64 axis, const std::vector<i64>& extents) const {
  std::vector<Tensor> parts;
  i64 first = 0;
  for (const i64 extent : extents) {
    parts.push_back(slice(axis, first, first + extent));
    first += extent;
  }
  if (first != size(axis))
    throw UsageError(fmt::format("split: parts of {} are {} of axis {} of {}; they must be all of it.",
                                 to_string(extents), first, axis, to_string(shape())));
  return parts;
}

Tensor Tensor::repeat(i64 axis, i64 times) const {
  const size_t at = checked_axis("repeat", shape(), axis);
  Shape repeated = shape(), out = shape();
  repeated.insert(repeated.begin() + i64(at), times);
  out[at] *= times;
  return unsqueeze(i64(at)).expand(repeated).reshape(out);
}

void Tensor::assign(i64 axis, i64 first, const Tensor& values) {
  const size_t at = checked_axis("assign", shape(), axis);
  const i64 extent = shape()[at], end = first + values.size(axis);
  if (first < 0 || end > extent)
    throw UsageError(fmt::format("assign: {} from {} on is beyond axis {} of {}.", to_string(values.shape()), first, at,
                                 to_string(shape())));
  std::vector<Tensor> parts{values.cast(without_blocks(dtype()))};
  if (first > 0) parts.insert(parts.begin(), slice(axis, 0, first));
  if (end < extent) parts.push_back(slice(axis, end, extent));
  *this = concat(parts, i64(at)).cast(dtype());
}

Tensor stack(std::span<const Tensor> tensors, i64 axis) {
  std::vector<Tensor> parts;
  for (const Tensor& x : tensors) parts.push_back(x.unsqueeze(axis));
  if (parts.empty()) throw UsageError("stack: no tensors; give at least one.");
  return concat(parts, axis < 0 ? axis + i64(parts[0].rank()) : axis);
}

Tensor outer(const Tensor& x, const Tensor& y) {
  if (x.rank() != 1 || y.rank() != 1)
    throw UsageError(fmt::format("outer: {} by {}; both need one axis.", to_string(x.shape()), to_string(y.shape())));
  return x.unsqueeze(1) * y;
}

}  // namespace baretile
