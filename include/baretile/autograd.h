// Reverse mode. Gradients are expressions like any other, so forward, backward and update of a step run as one Program:
//   Tensor loss = nn::mse(matmul(x, w), y);  Tensor dw = grad(loss, {w})[0];
//   Tensor next = w - 0.1 * dw;  realize({loss, next});
// Nothing is recorded: grad() walks the expression of the loss, so call it before the loss is realized.
#pragma once
#include <functional>
#include <vector>

#include "baretile/tensor.h"

#pragma GCC visibility push(default)
namespace baretile {

// What a change of each of `wrt` means for the loss, in their shapes and dtypes. `seed` is what a change of the loss
// itself means, in its shape; a loss of one element has 1. Only bf16 and fp32 have gradients, and none passes through
// integers and booleans. Equal elements share the gradient of their maximum. Gradients can be differentiated again.
std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> wrt, const Tensor& seed = {});
inline std::vector<Tensor> grad(const Tensor& loss, std::initializer_list<Tensor> wrt, const Tensor& seed = {}) {
  return grad(loss, std::span(wrt.begin(), wrt.size()), seed);
}

// While one lives, this thread's new tensors are constants to grad().
class NoGrad {
 public:
  NoGrad() : before_(active_) { active_ = true; }
  ~NoGrad() { active_ = before_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool active() { return active_; }

 private:
  static thread_local bool active_;
  bool before_;
};

// From the gradient of a value to those of its inputs; an empty tensor where there is none.
using GradientFunction = std::function<std::vector<Tensor>(const Tensor& gradient)>;
// `value`, whose gradient flows to `inputs` as `gradient` says, however the value was computed.
Tensor custom_gradient(const Tensor& value, std::span<const Tensor> inputs, GradientFunction gradient);
inline Tensor custom_gradient(const Tensor& value, std::initializer_list<Tensor> inputs, GradientFunction gradient) {
  return custom_gradient(value, std::span(inputs.begin(), inputs.size()), std::move(gradient));
}

}  // namespace baretile
#pragma GCC visibility pop
