#include "baretile/nn.h"

namespace baretile::nn {

namespace {

// What a step changes.
std::vector<Tensor*> all_of(Parameters parameters, std::vector<Tensor>& state) {
  for (Tensor& x : state) parameters.push_back(&x);
  return parameters;
}

}  // namespace

Trainer::Trainer(Loss loss, const Parameters& parameters, Optimiser& optimiser, float clip)
    : parameters_((optimiser.begin(parameters), parameters)),  // makes the state that the step takes
      optimiser_(optimiser),
      step_(
          [loss = std::move(loss), parameters, clip, &optimiser](const std::vector<Tensor>& in) {
            const auto numbers = in.end() - i64(optimiser.numbers_);
            const Tensor value = loss({in.begin(), numbers});
            std::vector<Tensor> gradients = nn::gradients(value, parameters);
            if (clip != 0) clip_grad_norm(gradients, clip);
            optimiser.update_all(parameters, gradients, {numbers, in.end()});
            return std::vector{value};
          },
          all_of(parameters, optimiser.state_)) {}

Tensor Trainer::operator()(const std::vector<Tensor>& batch) {
  std::vector<Tensor> in = batch;
  for (Tensor& number : optimiser_.upload(*parameters_[0]->runtime())) in.push_back(std::move(number));
  Tensor loss = step_(in)[0];
  ++optimiser_.steps_;
  return loss;
}

}  // namespace baretile::nn
