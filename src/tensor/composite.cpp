// Operations that are expressions of others; fusion makes one kernel of each.
#include <fmt/format.h>

#include "baretile/error.h"
#include "baretile/tensor.h"
#include "compiler/graph/graph.h"

namespace baretile {

Tensor silu(const Tensor& x) { return x * reciprocal(exp(-x) + 1); }

Tensor mean(const Tensor& x, i64 axis, bool keepdims) { return sum(x, axis, keepdims) * (1.0f / float(x.size(axis))); }

Tensor softmax(const Tensor& x, i64 axis) {
  Tensor e = exp(x - max(x, axis, true));
  return e * reciprocal(sum(e, axis, true));
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon) {
  return x * rsqrt(mean(x * x, -1, true) + epsilon) * weight;
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
