#include "baretile/tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::info;
using compiler::Node;
using compiler::Op;

namespace {

Tensor make(Op op, DType dtype, Shape shape, std::vector<Tensor> inputs, std::vector<i64> attrs = {}) {
  auto expr = std::make_shared<Expr>();
  expr->node = {op, dtype, std::move(shape), {}, std::move(attrs), 0};
  for (const Tensor& input : inputs) {
    Runtime* runtime = input.expr()->runtime;
    if (runtime && expr->runtime && runtime != expr->runtime) {
      throw UsageError(fmt::format(
          "{}: the tensors lie on two devices; bring one to the other with to_host and from_host.", info(op).name));
    }
    if (runtime) expr->runtime = runtime;
    expr->inputs.push_back(input.expr());
  }
  return Tensor(std::move(expr));
}

// A tensor with a value or a recipe, of a dtype that arithmetic takes.
const Tensor& checked(const char* op, const Tensor& x, bool arithmetic = true) {
  if (!x) throw UsageError(fmt::format("{}: the tensor is empty; give it a value first.", op));
  if (arithmetic && x.dtype() == DType::int32) {
    throw UsageError(fmt::format("{}: int32 {} is for indices; arithmetic takes bf16 and fp32.", op,
                                 compiler::to_string(x.shape())));
  }
  return x;
}

DType joint_dtype(const Tensor& x, const Tensor& y) {
  return x.dtype() == DType::fp32 || y.dtype() == DType::fp32 ? DType::fp32 : DType::bf16;
}

Tensor unary(Op op, const Tensor& x) { return make(op, checked(info(op).name, x).dtype(), x.shape(), {x}); }

Tensor binary(Op op, const Tensor& x, const Tensor& y) {
  checked(info(op).name, x);
  checked(info(op).name, y);
  Shape shape = compiler::broadcast_shape(info(op).name, x.shape(), y.shape());
  return make(op, joint_dtype(x, y), shape, {x.expand(shape), y.expand(shape)});
}

// A number takes the other operand's shape and dtype.
Tensor number(float value, const Tensor& like) {
  Tensor tensor = Tensor::constant(value);
  if (like) {
    tensor.expr()->node.dtype = like.dtype();
    tensor.expr()->node.shape = like.shape();
  }
  return tensor;
}

Tensor reduce(Op op, const Tensor& x, i64 axis, bool keepdims) {
  checked(info(op).name, x);
  axis = i64(compiler::checked_axis(info(op).name, x.shape(), axis));
  const i64 rank = i64(x.rank());
  Shape kept = x.shape(), dropped = x.shape();
  kept[size_t(axis)] = 1;
  dropped.erase(dropped.begin() + axis);
  Tensor out = x;
  if (x.shape()[size_t(axis)] != 1) {
    if (axis + 2 < rank) {  // kernels reduce rows or columns: bring the axis there
      std::vector<i64> order(size_t(rank), 0);
      for (i64 i = 0; i < rank; ++i)
        order[size_t(i)] = i < axis ? i : i + 1 < rank - 1 ? i + 1 : i + 1 == rank - 1 ? axis : rank - 1;
      Tensor moved = x.permute(order);
      Shape shape = moved.shape();
      shape[size_t(rank - 2)] = 1;
      out = make(op, x.dtype(), shape, {moved}, {rank - 2});
    } else {
      out = make(op, x.dtype(), kept, {x}, {axis});
    }
  }
  return out.reshape(keepdims ? kept : dropped);
}

}  // namespace

#define UNARY(name, ...) \
  Tensor name(const Tensor& x) { return unary(Op::name, x); }
#define BINARY(name, ...)                                                          \
  Tensor name(const Tensor& x, const Tensor& y) { return binary(Op::name, x, y); } \
  Tensor name(const Tensor& x, float y) { return name(x, number(y, x)); }          \
  Tensor name(float x, const Tensor& y) { return name(number(x, y), y); }
#define REDUCE(name, ...) \
  Tensor name(const Tensor& x, i64 axis, bool keepdims) { return reduce(Op::name, x, axis, keepdims); }
#include "baretile/ops.def"

Tensor Tensor::constant(float value) {
  Tensor tensor = make(Op::constant, DType::fp32, {}, {});
  tensor.expr_->node.value = value;
  return tensor;
}

Tensor Tensor::placeholder(Shape shape, DType dtype) {
  compiler::check_extents("placeholder", shape);
  return make(Op::external, dtype, std::move(shape), {});
}

const Shape& Tensor::shape() const { return checked("shape", *this, false).expr_->node.shape; }
DType Tensor::dtype() const { return checked("dtype", *this, false).expr_->node.dtype; }
i64 Tensor::size(i64 axis) const { return shape()[compiler::checked_axis("size", shape(), axis)]; }

Tensor Tensor::reshape(Shape wanted) const {
  compiler::complete_reshape(shape(), wanted);
  return wanted == shape() ? *this : make(Op::reshape, dtype(), std::move(wanted), {*this});
}

Tensor Tensor::permute(std::vector<i64> axes) const {
  Shape permuted = compiler::permuted_shape(shape(), axes);
  return std::is_sorted(axes.begin(), axes.end()) ? *this : make(Op::permute, dtype(), permuted, {*this}, axes);
}

Tensor Tensor::transpose() const {
  std::vector<i64> axes;
  for (i64 i = 0; i < i64(rank()); ++i) axes.push_back(i);
  if (rank() < 2)
    throw UsageError(
        fmt::format("transpose: {} has fewer than two axes; reshape it first.", compiler::to_string(shape())));
  std::swap(axes[rank() - 2], axes[rank() - 1]);
  return permute(std::move(axes));
}

Tensor Tensor::slice(i64 axis, i64 first, i64 end) const {
  size_t at = compiler::checked_axis("slice", shape(), axis);
  i64 extent = shape()[at];
  if (first < 0) first += extent;
  if (end < 0) end += extent;
  if (first < 0 || first >= end || end > extent) {
    throw UsageError(fmt::format("slice: [{}, {}) is no part of axis {} of {}; give 0 <= first < end <= {}.", first,
                                 end, at, compiler::to_string(shape()), extent));
  }
  if (first == 0 && end == extent) return *this;
  Shape sliced = shape();
  sliced[at] = end - first;
  std::vector<i64> starts(rank(), 0);
  starts[at] = first;
  return make(Op::slice, dtype(), std::move(sliced), {*this}, std::move(starts));
}

Tensor Tensor::flip(i64 axis) const {
  size_t at = compiler::checked_axis("flip", shape(), axis);
  return shape()[at] == 1 ? *this : make(Op::flip, dtype(), shape(), {*this}, {i64(at)});
}

Tensor Tensor::expand(Shape wanted) const {
  Shape aligned = compiler::aligned_for_expand(shape(), wanted);
  Tensor out = reshape(aligned);
  return aligned == wanted ? out : make(Op::expand, dtype(), std::move(wanted), {out});
}

Tensor Tensor::cast(DType wanted) const {
  if (wanted == dtype()) return *this;
  checked("cast", *this);
  if (wanted == DType::int32) throw Unsupported("cast: to int32 is not there yet; make indices on the host.");
  return make(Op::cast, wanted, shape(), {*this});
}

Tensor matmul(const Tensor& x, const Tensor& y, u32 phases) {
  checked("matmul", x);
  checked("matmul", y);
  compiler::MatmulShapes s = compiler::matmul_shapes(x.shape(), y.shape());
  if (phases != 2 && phases != 4)
    throw UsageError(fmt::format("matmul: {} phases; the matrix unit does 2 or 4.", phases));
  Tensor left = x.dtype() == DType::bf16 && y.dtype() == DType::fp32 ? x.cast(DType::fp32) : x;
  if (x.size(-1) == 1) return mul(left, y);  // an outer product
  return make(Op::matmul, joint_dtype(x, y), s.out, {left.expand(s.left), y.expand(s.right)}, {i64(phases)});
}

Tensor gather_rows(const Tensor& table, const Tensor& index) {
  Shape shape = compiler::gather_shape(table.shape(), index.shape(), index.dtype());
  return make(Op::gather_rows, table.dtype(), std::move(shape), {table, index});
}

void Tensor::assign_rows(const Tensor& index, const Tensor& values) {
  compiler::check_scatter(shape(), values.shape(), index.shape(), index.dtype());
  if (values.dtype() != dtype()) {
    throw UsageError(fmt::format("assign_rows: {} values for a {} tensor {}; cast the values.",
                                 compiler::to_string(values.dtype()), compiler::to_string(dtype()),
                                 compiler::to_string(shape())));
  }
  *this = make(Op::assign_rows, dtype(), shape(), {*this, values, index}, {0});
}

Tensor concat(std::span<const Tensor> tensors, i64 axis) {
  if (tensors.empty()) throw UsageError("concat: no tensors; give at least one.");
  Shape shape = tensors[0].shape();
  size_t at = compiler::checked_axis("concat", shape, axis);
  for (const Tensor& tensor : tensors.subspan(1)) {
    Shape other = tensor.shape();
    bool fits = other.size() == shape.size() && tensor.dtype() == tensors[0].dtype();
    i64 length = fits ? other[at] : 0;
    if (fits) other[at] = shape[at];
    if (!fits || other != shape) {
      throw UsageError(
          fmt::format("concat: {} and {} do not fit along axis {}; all other extents and dtypes must agree.",
                      compiler::to_string(tensors[0].shape()), compiler::to_string(tensor.shape()), at));
    }
    shape[at] += length;
  }
  if (tensors.size() == 1) return tensors[0];
  return make(Op::concat, tensors[0].dtype(), std::move(shape), {tensors.begin(), tensors.end()}, {i64(at)});
}

}  // namespace baretile
