// Operations that are expressions of others; fusion makes one kernel of each.
#include <fmt/format.h>

#include <cmath>

#include "baretile/error.h"
#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

namespace {

// Differences, squares and sums of integers would wrap around.
Tensor real(const Tensor& x) { return is_float(x.dtype()) ? x : x.cast(DType::fp32); }

}  // namespace

Tensor silu(const Tensor& x) { return x * sigmoid(x); }

Tensor mean(const Tensor& x, i64 axis, bool keepdims) {
  return sum(real(x), axis, keepdims) * (1.0f / float(x.size(axis)));
}

Tensor softmax(const Tensor& x, i64 axis) {
  const Tensor r = real(x);
  if (is_empty(r)) return r;
  Tensor e = exp(r - max(r.detach(), axis, true));  // any shift gives the same
  return e * reciprocal(sum(e, axis, true));
}

Tensor rms_norm(const Tensor& given, const Tensor& weight, float epsilon) {
  const Tensor x = real(given);
  return x * rsqrt(mean(x * x, -1, true) + epsilon) * weight;
}

Tensor sigmoid(const Tensor& x) { return reciprocal(exp(-real(x)) + 1); }
Tensor softplus(const Tensor& x) { return maximum(x, 0) + log1p(exp(-abs(real(x)))); }
Tensor leaky_relu(const Tensor& x, double slope) { return where(x > 0, x, x * slope); }
Tensor gelu(const Tensor& x) { return x * ((erf(x * M_SQRT1_2) + 1) * 0.5); }
Tensor gelu_tanh(const Tensor& given) {
  const Tensor x = real(given);
  return x * ((tanh((x * x * 0.044715 + 1) * x * (M_2_SQRTPI * M_SQRT1_2)) + 1) * 0.5);
}
Tensor clamp(const Tensor& x, double low, double high) { return minimum(maximum(x, low), high); }
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) { return where(mask, value, x); }

namespace {

// Where column - row is at most, or at least, a diagonal's number.
Tensor triangle(const char* op, const Tensor& x, i64 diagonal, bool lower) {
  if (x.rank() < 2)
    throw UsageError(fmt::format("{}: {} has fewer than two axes.", op, compiler::to_string(x.shape())));
  const Tensor above = iota(x.runtime(), x.size(-1)) - iota(x.runtime(), x.size(-2)).unsqueeze(1);
  return where(lower ? above <= double(diagonal) : above >= double(diagonal), x, 0);
}

}  // namespace

Tensor tril(const Tensor& x, i64 diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, i64 diagonal) { return triangle("triu", x, diagonal, false); }

Tensor one_hot(const Tensor& index, i64 classes, DType dtype) {
  return equal(index.unsqueeze(-1), iota(index.runtime(), classes, index.dtype())).cast(dtype);
}

Tensor any(const Tensor& x, i64 axis, bool keepdims) { return max(x.cast(DType::boolean), axis, keepdims); }
Tensor all(const Tensor& x, i64 axis, bool keepdims) { return min(x.cast(DType::boolean), axis, keepdims); }

Tensor var(const Tensor& x, i64 axis, bool keepdims, i64 correction) {
  if (x.size(axis) <= correction)
    throw UsageError(fmt::format("var: axis {} of {} has no more than {} elements.", axis,
                                 compiler::to_string(x.shape()), correction));
  const Tensor centred = x - mean(x, axis, true);
  return sum(centred * centred, axis, keepdims) * (1.0 / double(x.size(axis) - correction));
}

Tensor logsumexp(const Tensor& x, i64 axis, bool keepdims) {
  const Tensor r = real(x), largest = max(r.detach(), axis, true), shift = where(isinf(largest), 0, largest);
  const Tensor out = log(sum(exp(r - shift), axis, true)) + shift;
  return keepdims ? out : out.squeeze(axis);
}

Tensor cumsum(const Tensor& x, i64 axis) {
  Tensor out = x;
  for (i64 distance = 1; distance < x.size(axis); distance *= 2)
    out = out + out.slice(axis, 0, x.size(axis) - distance).pad(axis, distance, 0);
  return out;
}

namespace {

// The axis's numbers in the shape that x broadcasts with.
Tensor positions(const Tensor& x, i64 axis) {
  Shape shape(x.rank(), 1);
  const size_t at = compiler::checked_axis("argmax", x.shape(), axis);
  shape[at] = x.shape()[at];
  return iota(x.runtime(), shape[at]).reshape(shape);
}

void check_choice(const char* op, const Tensor& x, i64 axis) {
  if (x.size(axis) == 0)
    throw UsageError(
        fmt::format("{}: axis {} of {} has no elements to choose from.", op, axis, compiler::to_string(x.shape())));
}

Tensor first_of(const Tensor& x, const Tensor& extreme, i64 axis, bool keepdims) {
  Tensor found = equal(x, extreme);
  if (is_float(x.dtype())) found = logical_or(found, isnan(x));
  return min(where(found, positions(x, axis), double(x.size(axis))), axis, keepdims);
}

}  // namespace

Tensor argmax(const Tensor& x, i64 axis, bool keepdims) {
  check_choice("argmax", x, axis);
  return first_of(x, max(x, axis, true), axis, keepdims);
}
Tensor argmin(const Tensor& x, i64 axis, bool keepdims) {
  check_choice("argmin", x, axis);
  return first_of(x, min(x, axis, true), axis, keepdims);
}

Tensor argsort(const Tensor& x, bool descending) {
  const Tensor mine = x.unsqueeze(-1), other = x.unsqueeze(-2);
  const Tensor at = iota(x.runtime(), x.size(-1));
  const Tensor tie = logical_and(equal(other, mine), at < at.unsqueeze(1));
  const Tensor rank = sum(logical_or(descending ? other > mine : other < mine, tie), -1);  // its place in the order
  return sum(where(equal(rank.unsqueeze(-2), at.unsqueeze(1)), at, 0), -1);
}

TopK topk(const Tensor& x, i64 count) {
  const Tensor indices = argsort(x, true).slice(-1, 0, count);
  return {gather(x, indices), indices};
}

Tensor swap_halves(const Tensor& x) {
  Shape halves = x.shape();
  if (halves.empty() || halves.back() % 2 != 0) {
    throw UsageError(fmt::format("swap_halves: the last axis of {} has no two halves; give it an even extent.",
                                 compiler::to_string(halves)));
  }
  halves.back() /= 2;
  halves.insert(halves.end() - 1, 2);
  return x.reshape(halves).flip(-2).reshape(x.shape());
}

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) { return x * cos + swap_halves(x) * sin; }

}  // namespace baretile
