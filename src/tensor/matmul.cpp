#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

namespace {

// What the matrix unit takes: floats as they are stored, and whole numbers as the floats that they meet.
Tensor as_factor(const Tensor& x, DType dtype) {
  if (!is_float(dtype)) return x;
  return x.cast(x.dtype() == DType::boolean ? DType::bf16 : is_integer(x.dtype()) ? dtype : without_blocks(x.dtype()));
}

// The node itself: on two tensors of at least two axes.
Tensor product(const Tensor& x, const Tensor& y, u32 phases, DType dtype) {
  const compiler::MatmulShapes s = compiler::matmul_shapes(x.shape(), y.shape());
  return make(compiler::Op::matmul, dtype, s.out, {x.expand(s.left), y.expand(s.right)}, {i64(phases)});
}

// An operand in fixed point: x = 2^exponent * (parts[0] + parts[1] + …), each part a whole number of at most `bits`
// bits times 2^(1 - bits * (its index + 1)), which bf16 holds; one exponent for all elements along `axis`.
struct FixedPoint {
  std::vector<Tensor> parts;
  Tensor exponent;
};

// Whether x is a tensor with its last two axes changed over, and no others.
bool is_transposed(const Tensor& x) {
  const compiler::Node& node = x.expr()->node;
  if (node.op != compiler::Op::permute || node.attrs.back() != i64(node.attrs.size()) - 2) return false;
  for (size_t i = 0; i + 2 < node.attrs.size(); ++i) {
    if (node.attrs[i] != i64(i)) return false;
  }
  return true;
}

FixedPoint fixed_point(const Tensor& x, i64 axis, i64 bits, i64 count) {
  if (is_transposed(x)) {  // a transposed part is read as it lies
    FixedPoint base = fixed_point(Tensor(x.expr()->inputs[0]), -3 - axis, bits, count);
    for (Tensor& part : base.parts) part = part.transpose();
    base.exponent = base.exponent.transpose();
    return base;
  }
  constexpr double kLeast = 0x1p-100, kMargin = 0x1p-10;  // to 2^n belongs what the logarithm may take for it
  FixedPoint out{{}, floor(log2(maximum(max(abs(x), axis, true), kLeast)) + kMargin)};
  Tensor rest = x * exp2(double(bits - 1) - out.exponent);
  for (i64 part = 0; part < count; ++part) {
    const Tensor whole = trunc(rest);
    out.parts.push_back((whole * std::exp2(double(1 - bits * (part + 1)))).cast(DType::bf16));
    rest = (rest - whole) * double(1 << bits);
  }
  return out;
}

// One phase multiplies seven bits of the left operand by five of the right; where all products are whole numbers of one
// unit it is exact, and so are sums up to 2^24 of them (K. Ozaki's splitting). Products of parts from 2^-24 on are left
// out.
Tensor full_product(const Tensor& x, const Tensor& y) {
  constexpr i64 kLeftBits = 7, kRightBits = 5, kBits = 24;
  const FixedPoint left = fixed_point(x, -1, kLeftBits, 4), right = fixed_point(y, -2, kRightBits, 5);
  Tensor sum;
  for (i64 i = i64(left.parts.size()); i-- > 0;) {
    for (i64 j = i64(right.parts.size()); j-- > 0;) {
      if (kLeftBits * i + kRightBits * j >= kBits) continue;
      const Tensor part = product(left.parts[size_t(i)], right.parts[size_t(j)], 1, DType::fp32);
      sum = sum ? sum + part : part;
    }
  }
  return sum * 2 * exp2(left.exponent + right.exponent - 1);  // which itself may be 128
}

// The digits of integers modulo 2^32, the lowest first, of so many bits; those of booleans are they themselves.
std::vector<Tensor> digits(const Tensor& x, u32 bits) {
  if (is_transposed(x)) {
    std::vector<Tensor> out = digits(Tensor(x.expr()->inputs[0]), bits);
    for (Tensor& digit : out) digit = digit.transpose();
    return out;
  }
  if (x.dtype() == DType::boolean) return {x.cast(DType::bf16)};
  std::vector<Tensor> out;
  for (u32 low = 0; low < 32; low += bits)
    out.push_back(bit_and(shift_right(x.cast(DType::uint32), double(low)), double((1u << bits) - 1)).cast(DType::bf16));
  return out;
}

// Exact modulo 2^32, by the same splitting: a sum of 2^12 products of digits of seven and five bits is below 2^24.
Tensor integer_product(const Tensor& x, const Tensor& y, DType dtype) {
  constexpr u32 kLeftBits = 7, kRightBits = 5;
  constexpr i64 kTerms = 1 << 12;
  if (x.size(-1) == 1) return mul(x.cast(dtype), y.cast(dtype));  // an outer product
  if (is_empty(x) || is_empty(y)) return product(x.cast(DType::fp32), y.cast(DType::fp32), 1, DType::fp32).cast(dtype);
  Tensor sum;
  for (i64 first = 0; first < x.size(-1); first += kTerms) {
    const i64 end = std::min(first + kTerms, x.size(-1));
    const auto left = digits(x.slice(-1, first, end), kLeftBits), right = digits(y.slice(-2, first, end), kRightBits);
    for (u32 i = 0; i < left.size(); ++i) {
      for (u32 j = 0; j < right.size() && kLeftBits * i + kRightBits * j < 32; ++j) {
        const Tensor part = product(left[i], right[j], 1, DType::fp32).cast(dtype);
        const Tensor shifted = shift_left(part, double(kLeftBits * i + kRightBits * j));
        sum = sum ? sum + shifted : shifted;
      }
    }
  }
  return sum;
}

}  // namespace

thread_local Precision DefaultPrecision::now_ = Precision::standard;

Tensor matmul(const Tensor& left_operand, const Tensor& right_operand, Precision precision) {
  const DType dtype = std::max(without_blocks(checked("matmul", left_operand).dtype()),
                               without_blocks(checked("matmul", right_operand).dtype()));
  const Tensor x = as_factor(left_operand, dtype), y = as_factor(right_operand, dtype);
  if (x.rank() == 1 || y.rank() == 1) {  // a vector is one row on the left, one column on the right
    Tensor out = matmul(x.rank() == 1 ? x.unsqueeze(0) : x, y.rank() == 1 ? y.unsqueeze(1) : y, precision);
    if (y.rank() == 1) out = out.squeeze(-1);
    return x.rank() == 1 ? out.squeeze(y.rank() == 1 ? -1 : -2) : out;
  }
  const compiler::MatmulShapes s = compiler::matmul_shapes(x.shape(), y.shape());
  if (!is_float(dtype)) return integer_product(x, y, dtype == DType::boolean ? DType::int32 : dtype);
  const Tensor left = x.dtype() == DType::bf16 ? x.cast(dtype) : x;
  if (x.size(-1) == 1) return mul(left, y);  // an outer product
  if (precision != Precision::full || is_empty(left) || is_empty(y))
    return product(left, y, precision == Precision::fast ? 2 : 4, dtype);
  const Tensor a = left.cast(DType::fp32).expand(s.left), b = y.cast(DType::fp32).expand(s.right);
  return custom_gradient(full_product(a.detach(), b.detach()).cast(dtype), {a, b}, [a, b](const Tensor& g) {
    return std::vector{matmul(g, b.transpose(), Precision::full), matmul(a.transpose(), g, Precision::full)};
  });
}

}  // namespace baretile
