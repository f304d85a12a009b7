#include <fmt/format.h>

#include "baretile/error.h"
#include "baretile/nn.h"

namespace baretile::nn {

Tensor mse(const Tensor& x, const Tensor& target) {
  const Tensor difference = x - target;
  i64 count = 1;
  for (i64 extent : difference.shape()) count *= extent;
  return sum(difference * difference) * (1.0 / double(count));
}

Tensor log_softmax(const Tensor& x, i64 axis) { return x - logsumexp(x, axis, true); }

Tensor cross_entropy(const Tensor& logits, const Tensor& labels) {
  if (logits.rank() != 2 || labels.shape() != Shape{logits.size(0)} || !is_integer(labels.dtype()))
    throw UsageError(
        fmt::format("cross_entropy: logits of {} axes and {} labels of {} axes; give [n, classes] and [n].",
                    logits.rank(), is_integer(labels.dtype()) ? "integer" : "float", labels.rank()));
  const Tensor picked = one_hot(labels, logits.size(1), DType::boolean);
  return sum(where(picked, nn::log_softmax(logits), 0)) * (-1.0 / double(logits.size(0)));
}

}  // namespace baretile::nn
