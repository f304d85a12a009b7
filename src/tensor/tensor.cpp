#include "baretile/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::info;
using compiler::Kind;
using compiler::Node;
using compiler::Op;

namespace {

// The value of a reduction or a product over no elements at all.
double nothing(Op op, const Tensor& x) {
  const bool extreme = op == Op::max || op == Op::min;
  if (extreme && x.dtype() != DType::boolean)
    throw UsageError(fmt::format("{}: {} has no elements to choose from; leave it out, or pad it.", info(op).name,
                                 compiler::to_string(x.shape())));
  return extreme ? op == Op::min : info(op).identity;
}

// The node as a constant; what flows back through it is zero.
Tensor settled(std::shared_ptr<Expr> expr, double value) {
  std::vector<Shape> shapes;
  for (const auto& input : expr->inputs) shapes.push_back(input->node.shape);
  expr->custom = std::make_unique<CustomGradient>();
  expr->custom->inputs = std::exchange(expr->inputs, {});
  for (const u32 input : std::exchange(expr->detached, {})) expr->custom->inputs[input] = nullptr;
  expr->custom->gradient = [shapes](const Tensor& g) {
    std::vector<Tensor> zeros;
    for (const Shape& shape : shapes) zeros.push_back(filled(g.runtime(), shape, 0, g.dtype()));
    return zeros;
  };
  expr->node = {Op::constant, expr->node.dtype, expr->node.shape, {}, {}, value};
  return Tensor(std::move(expr));
}

}  // namespace

thread_local bool NoGrad::active_ = false;

Tensor make(Op op, DType dtype, Shape shape, std::vector<Tensor> inputs, std::vector<i64> attrs) {
  auto expr = std::make_shared<Expr>();
  if (op != Op::cast && !inputs.empty()) {  // which alone makes block formats and reads them
    dtype = without_blocks(dtype);
    for (Tensor& input : inputs) input = input.cast(without_blocks(input.dtype()));
  }
  expr->node = {op, dtype, std::move(shape), {}, std::move(attrs), 0};
  for (const Tensor& input : inputs) {
    const Runtime* runtime = input.expr()->runtime();
    if (runtime && expr->home && runtime != *expr->home) {
      throw UsageError(fmt::format(
          "{}: the tensors lie on two devices; bring one to the other with to_host and from_host.", info(op).name));
    }
    if (runtime) expr->place(runtime);
    if (input.detached() || NoGrad::active()) expr->detached.push_back(u32(expr->inputs.size()));
    expr->inputs.push_back(input.expr());
  }
  if (compiler::element_count(expr->node.shape) == 0) return settled(std::move(expr), 0);
  const auto empty = std::find_if(inputs.begin(), inputs.end(), is_empty);
  return empty == inputs.end() ? Tensor(std::move(expr)) : settled(std::move(expr), nothing(op, *empty));
}

const Tensor& checked(const char* op, const Tensor& x) {
  if (!x) throw UsageError(fmt::format("{}: the tensor is empty; give it a value first.", op));
  return x;
}

namespace {

// A plain number: it takes the dtype of what it meets.
bool is_number(const Tensor& x) { return x.expr()->node.op == Op::constant && x.rank() == 0 && !x.expr()->home; }

bool holds(DType dtype, double value) {
  if (is_float(dtype)) return true;
  if (std::trunc(value) != value) return false;
  return dtype == DType::boolean  ? value == 0 || value == 1
         : dtype == DType::uint32 ? value >= 0 && value <= UINT32_MAX
                                  : value >= INT32_MIN && value <= INT32_MAX;
}

// What operands meet in, before the operation's own wishes.
DType meeting(std::span<const Tensor> operands) {
  DType dtype = DType::boolean;
  bool any = false;
  for (const Tensor& x : operands) {
    if (is_number(x)) continue;
    dtype = std::max(dtype, without_blocks(x.dtype()));
    any = true;
  }
  if (!any) return DType::fp32;
  for (const Tensor& x : operands) {
    if (!is_number(x)) continue;
    const double value = x.expr()->node.value;
    if (!holds(dtype, value)) dtype = dtype < DType::int32 && holds(DType::int32, value) ? DType::int32 : DType::fp32;
  }
  return dtype;
}

DType operand_dtype(Op op, DType meeting) {
  switch (info(op).kind) {
    case Kind::floats:
    case Kind::test:
      return is_float(meeting) ? meeting : DType::fp32;
    case Kind::bits:
    case Kind::signed_bits:
      if (is_float(meeting))
        throw UsageError(fmt::format("{}: {} has no bits to work on; cast to int32 or uint32.", info(op).name,
                                     compiler::to_string(meeting)));
      [[fallthrough]];
    case Kind::ring:
    case Kind::ordered:
      return meeting == DType::boolean ? DType::int32 : meeting;
    case Kind::logic:
      return DType::boolean;
    default:
      return meeting;
  }
}

Tensor as_operand(const Tensor& x, DType dtype, const Shape& shape) {
  if (!is_number(x)) return x.cast(dtype).expand(shape);
  Tensor number = make(Op::constant, dtype, shape, {});
  number.expr()->node.value = x.expr()->node.value;
  number.expr()->home = x.expr()->home;
  if (dtype == DType::boolean) number.expr()->node.value = number.expr()->node.value != 0;
  return number;
}

}  // namespace

Tensor elementwise(Op op, std::vector<Tensor> operands, std::vector<i64> attrs) {
  Shape shape;
  for (const Tensor& x : operands)
    shape = compiler::broadcast_shape(info(op).name, shape, checked(info(op).name, x).shape());
  const bool choice = info(op).kind == Kind::choice;  // of the operands behind the condition
  const DType dtype = operand_dtype(op, meeting(std::span(operands).subspan(choice)));
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = as_operand(operands[i], choice && i == 0 ? DType::boolean : dtype, shape);
  return make(op, compiler::gives_boolean(info(op).kind) ? DType::boolean : dtype, shape, std::move(operands),
              std::move(attrs));
}

namespace {

// Booleans count, but for any and all.
DType reduced_dtype(Op op, const Tensor& x) {
  const bool truth = x.dtype() == DType::boolean && info(op).kind == Kind::ordered;
  return truth ? DType::boolean : operand_dtype(op, without_blocks(x.dtype()));
}

Tensor reduce(Op op, const Tensor& input, i64 axis, bool keepdims) {
  checked(info(op).name, input);
  const Tensor x = input.cast(reduced_dtype(op, input));
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

std::vector<i64> every_axis(const Tensor& x) {
  std::vector<i64> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// From the last axis on, whose elements lie together.
Tensor reduce_axes(Op op, const Tensor& x, const std::vector<i64>& axes, bool keepdims) {
  std::vector<bool> wanted(checked(info(op).name, x).rank());
  for (i64 axis : axes) wanted[compiler::checked_axis(info(op).name, x.shape(), axis)] = true;
  const DType dtype = reduced_dtype(op, x);
  Tensor out = x.cast(dtype == DType::bf16 ? DType::fp32 : dtype);  // rounded once
  Shape shape;
  for (size_t axis = x.rank(); axis-- > 0;) {
    if (wanted[axis]) out = reduce(op, out, i64(axis), true);
    if (!wanted[axis] || keepdims) shape.insert(shape.begin(), out.shape()[axis]);
  }
  return out.reshape(shape).cast(dtype);
}

}  // namespace

#define UNARY(name, ...) \
  Tensor name(const Tensor& x) { return elementwise(Op::name, {x}); }
#define BINARY(name, ...) \
  Tensor name(const Tensor& x, const Tensor& y) { return elementwise(Op::name, {x, y}); }
#define TERNARY(name, ...) \
  Tensor name(const Tensor& x, const Tensor& y, const Tensor& z) { return elementwise(Op::name, {x, y, z}); }
#define REDUCE(name, ...)                                                                               \
  Tensor name(const Tensor& x, i64 axis, bool keepdims) { return reduce(Op::name, x, axis, keepdims); } \
  Tensor name(const Tensor& x, const std::vector<i64>& axes, bool keepdims) {                           \
    return reduce_axes(Op::name, x, axes, keepdims);                                                    \
  }                                                                                                     \
  Tensor name(const Tensor& x) { return reduce_axes(Op::name, x, every_axis(x), false); }
#include "baretile/ops.def"

Tensor::Tensor(double number) : expr_(make(Op::constant, DType::fp32, {}, {}).expr_) { expr_->node.value = number; }

Tensor iota(Runtime* runtime, Shape shape, DType dtype) {
  compiler::check_extents("arange", shape);
  Tensor out = make(Op::iota, is_integer(dtype) ? dtype : DType::int32, std::move(shape), {});
  out.expr()->place(runtime);
  return out.cast(dtype);
}

Tensor filled(Runtime* runtime, Shape shape, double value, DType dtype) {
  compiler::check_extents("full", shape);
  if (!holds(dtype, value)) throw UsageError(fmt::format("full: {} is no {}.", value, compiler::to_string(dtype)));
  if (is_block(dtype)) return filled(runtime, std::move(shape), value, DType::fp32).cast(dtype);
  Tensor out = make(Op::constant, dtype, std::move(shape), {});
  out.expr()->node.value = value;
  out.expr()->place(runtime);
  return out;
}

Tensor Tensor::placeholder(Shape shape, DType dtype) {
  compiler::check_stored("placeholder", shape, dtype);
  return make(Op::external, dtype, std::move(shape), {});
}

const Shape& Tensor::shape() const { return checked("shape", *this).expr_->node.shape; }
DType Tensor::dtype() const { return checked("dtype", *this).expr_->node.dtype; }
Runtime* Tensor::runtime() const { return checked("runtime", *this).expr_->runtime(); }
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

Tensor Tensor::slice(i64 axis, i64 first, i64 end, i64 step) const {
  size_t at = compiler::checked_axis("slice", shape(), axis);
  i64 extent = shape()[at];
  if (step == 0) throw UsageError("slice: a step of 0 goes nowhere; give another.");
  if (step < 0) {
    if (first < 0) first += extent;
    if (end < 0) end += extent;
    if (end < -1 || end > first || first >= extent)
      throw UsageError(
          fmt::format("slice: from {} down to {} is no part of axis {} of {}; give -{} <= end <= first < {}.", first,
                      end, at, compiler::to_string(shape()), extent + 1, extent));
    return flip(axis).slice(axis, extent - 1 - first, extent - 1 - end, -step);
  }
  if (step > 1) {
    Tensor dense = slice(axis, first, end);
    Shape strided = dense.shape();
    strided[at] = (strided[at] + step - 1) / step;
    return make(Op::stride, dtype(), std::move(strided), {dense}, {i64(at), step});
  }
  if (first < 0) first += extent;
  if (end < 0) end += extent;
  if (first < 0 || first > end || end > extent) {
    throw UsageError(fmt::format("slice: [{}, {}) is no part of axis {} of {}; give 0 <= first <= end <= {}.", first,
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
  if (is_block(dtype()) && wanted != DType::bf16) return cast(DType::bf16).cast(wanted);
  if (wanted == DType::boolean) return not_equal(*this, 0);
  compiler::check_stored("cast", shape(), wanted);
  return make(Op::cast, wanted, shape(), {*this});
}

Tensor Tensor::detach() const {
  Tensor out = *this;
  out.detached_ = true;
  return out;
}

Tensor gather_rows(const Tensor& table, const Tensor& index) {
  Shape shape = compiler::gather_shape(table.shape(), index.shape(), index.dtype());
  return make(Op::gather_rows, table.dtype(), std::move(shape), {table, index});
}

void Tensor::assign_rows(const Tensor& index, const Tensor& values) {
  compiler::check_scatter(shape(), values.shape(), index.shape(), index.dtype());
  if (is_empty(index)) return;
  if (is_block(dtype()))
    throw Unsupported(fmt::format("assign_rows: {} {} is not written by rows; assign to its cast to bf16.",
                                  compiler::to_string(dtype()), compiler::to_string(shape())));
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
    if (without_blocks(tensor.dtype()) != without_blocks(tensors[0].dtype()))
      throw UsageError(fmt::format("concat: {} {} and {} {}: dtypes must agree; cast one of them.",
                                   compiler::to_string(tensors[0].dtype()), compiler::to_string(tensors[0].shape()),
                                   compiler::to_string(tensor.dtype()), compiler::to_string(tensor.shape())));
    bool fits = other.size() == shape.size();
    i64 length = fits ? other[at] : 0;
    if (fits) other[at] = shape[at];
    if (!fits || other != shape) {
      throw UsageError(fmt::format("concat: {} and {} do not fit along axis {}; all other extents must agree.",
                                   compiler::to_string(tensors[0].shape()), compiler::to_string(tensor.shape()), at));
    }
    shape[at] += length;
  }
  std::vector<Tensor> parts(tensors.begin(), tensors.end());
  if (compiler::element_count(shape) > 0) std::erase_if(parts, is_empty);
  if (parts.size() == 1) return parts[0];
  return make(Op::concat, tensors[0].dtype(), std::move(shape), std::move(parts), {i64(at)});
}

Tensor custom_gradient(const Tensor& given, std::span<const Tensor> inputs, GradientFunction gradient) {
  const Tensor value = given.cast(without_blocks(given.dtype()));
  auto expr = std::make_shared<Expr>();  // a view of all of the value: costs nothing
  expr->node = {Op::reshape, value.dtype(), value.shape(), {}, {}, 0};
  expr->inputs = {value.expr()};
  expr->home = value.expr()->home;
  expr->custom = std::make_unique<CustomGradient>();
  for (const Tensor& x : inputs) expr->custom->inputs.push_back(x.detached() || NoGrad::active() ? nullptr : x.expr());
  expr->custom->gradient = std::move(gradient);
  return Tensor(std::move(expr));
}

}  // namespace baretile
