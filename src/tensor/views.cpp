// Creation, and views and moves that are expressions of others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::checked_axis;
using compiler::to_string;

Tensor Tensor::ones(Runtime& runtime, Shape shape, DType dtype) { return full(runtime, std::move(shape), 1, dtype); }
Tensor Tensor::full(Runtime& runtime, Shape shape, double value, DType dtype) {
  return filled(&runtime, std::move(shape), value, dtype);
}

Tensor Tensor::arange(Runtime& runtime, double first, double end, double step, DType dtype) {
  const double count = std::ceil((end - first) / step);
  if (!(count >= 1 && count <= INT32_MAX))
    throw UsageError(
        fmt::format("arange: from {} to {} by {} are {} elements; give one or more.", first, end, step, count));
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
  const Tensor n = iota(&runtime, count), at = n.cast(DType::fp32) * (1 / double(count - 1));
  return where(n < double(count - 1), at * last + (1 - at) * first, last).cast(dtype);  // both ends exact
}

Tensor Tensor::eye(Runtime& runtime, i64 rows, i64 cols, DType dtype) {
  return equal(iota(&runtime, rows).unsqueeze(1), iota(&runtime, cols)).cast(dtype);
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

Tensor Tensor::repeat(i64 axis, i64 times) const {
  const size_t at = checked_axis("repeat", shape(), axis);
  Shape repeated = shape(), out = shape();
  repeated.insert(repeated.begin() + i64(at), times);
  out[at] *= times;
  return unsqueeze(i64(at)).expand(repeated).reshape(out);
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
  out[0] = index.size(0);
  return gather_rows(by_row.reshape({size(axis), -1}), index).reshape(std::move(out)).permute(back);
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

namespace {

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

// x, whose axes are `from`, with the axes `to`: summed over those that are missing there, 1 where `from` lacks one.
Tensor arranged(Tensor x, std::string from, const std::string& to) {
  for (size_t axis = from.size(); axis-- > 0;) {
    if (has(to, from[axis])) continue;
    x = sum(x, i64(axis));
    from.erase(axis, 1);
  }
  std::vector<i64> order;
  for (const char letter : to) {
    if (has(from, letter)) order.push_back(i64(from.find(letter)));
  }
  x = x.permute(order);
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (!has(from, to[axis])) x = x.unsqueeze(i64(axis));
  }
  return x;
}

}  // namespace

Tensor einsum(const std::string& given, const std::vector<Tensor>& operands) {
  std::string formula = given;
  std::erase(formula, ' ');
  const size_t arrow = formula.find("->"), comma = formula.find(',');
  const auto wrong = [&](const std::string& why) {
    return UsageError(fmt::format("einsum: \"{}\": {}", formula, why));
  };
  if (arrow == std::string::npos) throw wrong("it has no arrow; write what the result's axes are.");
  const size_t count = 1 + size_t(std::count(formula.begin(), formula.end(), ','));
  if (count > 2) throw wrong("it names more than two operands; join them two by two.");
  if (operands.size() != count) throw wrong(fmt::format("it names {} operands, not {}.", count, operands.size()));
  const std::string out = formula.substr(arrow + 2), a = formula.substr(0, std::min(comma, arrow)),
                    b = count == 2 ? formula.substr(comma + 1, arrow - comma - 1) : "";
  for (size_t n = 0; n < count; ++n) {
    const std::string& letters = n == 0 ? a : b;
    if (letters.size() != operands[n].rank())
      throw wrong(fmt::format("'{}' stands for {}.", letters, to_string(operands[n].shape())));
    for (size_t i = 0; i < letters.size(); ++i) {
      if (has(letters.substr(i + 1), letters[i]))
        throw wrong(fmt::format("'{}' stands twice in one operand.", letters[i]));
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!has(a, out[i]) && !has(b, out[i])) throw wrong(fmt::format("'{}' is no axis of an operand.", out[i]));
    if (has(out.substr(i + 1), out[i])) throw wrong(fmt::format("'{}' stands twice in the result.", out[i]));
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (const size_t at = a.find(b[i]); at != std::string::npos && operands[0].shape()[at] != operands[1].shape()[i])
      throw wrong(
          fmt::format("'{}' is {} and {}; both must agree.", b[i], operands[0].shape()[at], operands[1].shape()[i]));
  }
  if (count == 1) return arranged(operands[0], a, out);
  std::string batch, rows, cols, inner;
  for (const char letter : a) {
    if (has(out, letter)) (has(b, letter) ? batch : rows) += letter;
    if (!has(out, letter) && has(b, letter)) inner += letter;
  }
  for (const char letter : b) {
    if (has(out, letter) && !has(a, letter)) cols += letter;
  }
  const Tensor x = arranged(operands[0], a, batch + rows + inner), y = arranged(operands[1], b, batch + inner + cols);
  const auto product_of = [&](const Tensor& t, size_t first, size_t length) {
    i64 extent = 1;
    for (size_t i = first; i < first + length; ++i) extent *= t.shape()[i];
    return extent;
  };
  Shape x_shape(x.shape().begin(), x.shape().begin() + i64(batch.size())),
      y_shape(y.shape().begin(), y.shape().begin() + i64(batch.size()));
  x_shape.insert(x_shape.end(),
                 {product_of(x, batch.size(), rows.size()), product_of(x, batch.size() + rows.size(), inner.size())});
  y_shape.insert(y_shape.end(),
                 {product_of(y, batch.size(), inner.size()), product_of(y, batch.size() + inner.size(), cols.size())});
  const Tensor product = matmul(x.reshape(x_shape), y.reshape(y_shape));
  Shape shape(product.shape().begin(), product.shape().end() - 2);
  shape.insert(shape.end(), x.shape().begin() + i64(batch.size()), x.shape().begin() + i64(batch.size() + rows.size()));
  shape.insert(shape.end(), y.shape().begin() + i64(batch.size() + inner.size()), y.shape().end());
  return arranged(product.reshape(shape), batch + rows + cols, out);
}

}  // namespace baretile
