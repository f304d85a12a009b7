// Quotients rounded down and what they leave: of floats by rounding the quotient, of integers exactly.
#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

namespace {

struct Division {
  Tensor quotient, rest;
};

// Of uint32, the divisor not 0. An estimate in fp32 that never is too large takes off all but 2^13 of the dividend and
// less than one divisor, a second all but two divisors.
Division divide_magnitudes(const Tensor& x, const Tensor& y) {
  const Tensor inverse = reciprocal(y.cast(DType::fp32)) * (1 - 0x1p-20);  // all roundings together make less
  const auto estimate = [&](const Tensor& t) { return (t.cast(DType::fp32) * inverse).cast(DType::uint32); };
  const Tensor first = estimate(x), left = x - first * y;
  const Tensor second = estimate(left), rest = left - second * y, more = rest >= y;
  return {first + second + more, where(more, rest - y, rest)};
}

Division divide_integers(const Tensor& x, const Tensor& y, DType dtype) {
  const Tensor none = equal(y, 0);
  if (dtype == DType::uint32) {
    const Division d = divide_magnitudes(x, y);
    return {where(none, 0, d.quotient), where(none, 0, d.rest)};
  }
  const Tensor negative = y < 0, differ = logical_xor(x < 0, negative);
  const Division d = divide_magnitudes(abs(x).cast(DType::uint32), abs(y).cast(DType::uint32));
  const Tensor quotient = d.quotient.cast(dtype), rest = d.rest.cast(dtype), some = not_equal(rest, 0);
  const Tensor magnitude = where(logical_and(differ, some), abs(y) - rest, rest);  // down is away from zero there
  return {where(none, 0, where(differ, -(quotient + some), quotient)),
          where(none, 0, where(negative, -magnitude, magnitude))};
}

// Exactly, also if it is a number, which would become fp32 among others.
Tensor as_integer(const Tensor& x, const Tensor& other, DType dtype) {
  const bool number = x.expr()->node.op == compiler::Op::constant && x.rank() == 0 && !x.runtime();
  return number ? filled(other.runtime(), other.shape(), x.expr()->node.value, dtype) : x.cast(dtype);
}

// What the operands meet in.
DType meeting(const char* op, const Tensor& x, const Tensor& y) {
  compiler::broadcast_shape(op, checked(op, x).shape(), checked(op, y).shape());
  return (x + y).dtype();
}

}  // namespace

Tensor floor_divide(const Tensor& x, const Tensor& y) {
  const DType dtype = meeting("floor_divide", x, y);
  if (!is_integer(dtype)) return floor(x / y);
  return divide_integers(as_integer(x, y, dtype), as_integer(y, x, dtype), dtype).quotient;
}

Tensor remainder(const Tensor& x, const Tensor& y) {
  const DType dtype = meeting("remainder", x, y);
  if (is_integer(dtype)) return divide_integers(as_integer(x, y, dtype), as_integer(y, x, dtype), dtype).rest;
  const Tensor rest = x - floor_divide(x, y) * y;  // the quotient may have been rounded up to the next integer
  return where(logical_and(not_equal(rest, 0), logical_xor(rest < 0, y < 0)), rest + y, rest);
}

}  // namespace baretile
