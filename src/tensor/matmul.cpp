#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

namespace {

// What the matrix unit takes.
Tensor as_float(const char* op, const Tensor& x) {
  if (is_integer(checked(op, x).dtype()))
    throw Unsupported(fmt::format("{}: {} {} is not there yet; cast to fp32.", op, compiler::to_string(x.dtype()),
                                  compiler::to_string(x.shape())));
  return x.cast(x.dtype() == DType::boolean ? DType::bf16 : without_blocks(x.dtype()));
}

}  // namespace

Tensor matmul(const Tensor& left_operand, const Tensor& right_operand, u32 phases) {
  const Tensor x = as_float("matmul", left_operand), y = as_float("matmul", right_operand);
  if (x.rank() == 1 || y.rank() == 1) {  // a vector is one row on the left, one column on the right
    Tensor product = matmul(x.rank() == 1 ? x.unsqueeze(0) : x, y.rank() == 1 ? y.unsqueeze(1) : y, phases);
    if (y.rank() == 1) product = product.squeeze(-1);
    return x.rank() == 1 ? product.squeeze(y.rank() == 1 ? -1 : -2) : product;
  }
  compiler::MatmulShapes s = compiler::matmul_shapes(x.shape(), y.shape());
  if (phases != 2 && phases != 4)
    throw UsageError(fmt::format("matmul: {} phases; the matrix unit does 2 or 4.", phases));
  Tensor left = x.dtype() == DType::bf16 && y.dtype() == DType::fp32 ? x.cast(DType::fp32) : x;
  if (x.size(-1) == 1) return mul(left, y);  // an outer product
  return make(compiler::Op::matmul, std::max(x.dtype(), y.dtype()), s.out, {left.expand(s.left), y.expand(s.right)},
              {i64(phases)});
}

}  // namespace baretile
