#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "baretile/error.h"
#include "baretile/nn.h"

namespace baretile::nn {

namespace {

// A value that changes from step to step comes from memory: as part of the expression it would be compiled each time.
Tensor scalar(Runtime& runtime, double value) {
  const float number = float(value);
  return Tensor::from_host(runtime, std::span(&number, 1), {});
}

// Checks a step's arguments and gives the state its first value, zeros.
Runtime& begin(const Parameters& parameters, const std::vector<Tensor>& gradients,
               std::initializer_list<std::vector<Tensor>*> states) {
  Runtime* runtime = parameters.empty() ? nullptr : parameters[0]->runtime();
  if (!runtime || gradients.size() != parameters.size())
    throw UsageError(fmt::format("step: {} parameters and {} gradients; give one for each, on a device.",
                                 parameters.size(), gradients.size()));
  for (std::vector<Tensor>* state : states) {
    if (state->empty())
      for (const Tensor* x : parameters) state->push_back(Tensor::zeros(*runtime, x->shape()));
    for (size_t i = 0; i < std::max(state->size(), parameters.size()); ++i)
      if (state->size() != parameters.size() || (*state)[i].shape() != parameters[i]->shape())
        throw UsageError("step: other parameters than in the steps before; make an optimiser of their own for them.");
  }
  return *runtime;
}

void finish(const Parameters& parameters, std::initializer_list<const std::vector<Tensor>*> states,
            std::vector<Tensor>& also) {
  for (const Tensor* x : parameters) also.push_back(*x);
  for (const auto* state : states) also.insert(also.end(), state->begin(), state->end());
  realize(also);
}

}  // namespace

std::vector<Tensor> gradients(const Tensor& loss, const Parameters& parameters) {
  std::vector<Tensor> values;
  for (const Tensor* x : parameters) values.push_back(*x);
  return grad(loss, values);
}

Tensor clip_grad_norm(std::vector<Tensor>& gradients, float largest) {
  Tensor total;
  for (const Tensor& g : gradients) {
    const Tensor square = sum(g.cast(DType::fp32) * g.cast(DType::fp32));
    total = total ? total + square : square;
  }
  if (!total) throw UsageError("clip_grad_norm: no gradients; give at least one.");
  const Tensor norm = sqrt(total), scale = minimum(reciprocal(norm + 1e-6) * largest, 1);
  for (Tensor& g : gradients) g = (g * scale).cast(g.dtype());
  return norm;
}

void SGD::step(const Parameters& parameters, const std::vector<Tensor>& gradients, std::vector<Tensor> also) {
  Runtime& runtime = begin(parameters, gradients, {});
  if (options.momentum != 0) begin(parameters, gradients, {&velocity_});
  const Tensor rate = scalar(runtime, options.rate);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor &x = *parameters[i], g = gradients[i];
    if (options.weight_decay != 0) g = g + x * options.weight_decay;
    if (options.momentum != 0) g = velocity_[i] = velocity_[i] * options.momentum + g;
    x = (x - g * rate).cast(x.dtype());
  }
  finish(parameters, {&velocity_}, also);
}

void Adam::step(const Parameters& parameters, const std::vector<Tensor>& gradients, std::vector<Tensor> also) {
  Runtime& runtime = begin(parameters, gradients, {&mean_, &square_});
  ++steps_;
  const double b1 = options.beta1, b2 = options.beta2, decay = options.weight_decay;
  const Tensor rate = scalar(runtime, options.rate / (1 - std::pow(b1, steps_)));
  const Tensor correction = scalar(runtime, 1 / std::sqrt(1 - std::pow(b2, steps_)));
  const Tensor kept = scalar(runtime, 1 - options.rate * decay);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor &x = *parameters[i], g = gradients[i], from = x;
    if (decay != 0) options.decoupled ? from = x* kept : g = g + x * decay;
    mean_[i] = mean_[i] * b1 + g * (1 - b1);
    square_[i] = square_[i] * b2 + g * g * (1 - b2);
    x = (from - mean_[i] * rate * reciprocal(sqrt(square_[i]) * correction + options.epsilon)).cast(x.dtype());
  }
  finish(parameters, {&mean_, &square_}, also);
}

}  // namespace baretile::nn
