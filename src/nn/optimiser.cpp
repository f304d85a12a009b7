#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "baretile/error.h"
#include "baretile/nn.h"

namespace baretile::nn {

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

// Checks the parameters and gives the state its first value, zeros.
Runtime& Optimiser::begin(const Parameters& parameters) {
  if (parameters.empty() || !parameters[0]->runtime())
    throw UsageError(
        fmt::format("step: {} parameters, the first of no device; give some, made with a Runtime.", parameters.size()));
  if (state_.empty())
    for (const Tensor* x : parameters)
      for (size_t n = 0; n < states_; ++n) state_.push_back(Tensor::zeros(*x->runtime(), x->shape()));
  bool same = state_.size() == states_ * parameters.size();
  for (size_t i = 0; same && i < state_.size(); ++i) same = state_[i].shape() == parameters[i / states_]->shape();
  if (!same)
    throw UsageError("step: other parameters than in the steps before; make an optimiser of their own for them.");
  return *parameters[0]->runtime();
}

std::vector<Tensor> Optimiser::upload(Runtime& runtime) {
  std::vector<Tensor> out;
  for (const double number : numbers()) {
    const float value = float(number);
    out.push_back(Tensor::from_host(runtime, std::span(&value, 1), {}));
  }
  return out;
}

void Optimiser::update_all(const Parameters& parameters, const std::vector<Tensor>& gradients,
                           const std::vector<Tensor>& numbers) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor& x = *parameters[i];
    x = update(x, gradients[i], std::span(state_).subspan(i * states_, states_), numbers).cast(x.dtype());
  }
}

void Optimiser::step(const Parameters& parameters, const std::vector<Tensor>& gradients, std::vector<Tensor> also) {
  if (gradients.size() != parameters.size())
    throw UsageError(
        fmt::format("step: {} parameters and {} gradients; give one for each.", parameters.size(), gradients.size()));
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].shape() != parameters[i]->shape())
      throw UsageError(fmt::format("step: gradient {} is [{}], and its parameter [{}]; they must have one shape.", i,
                                   fmt::join(gradients[i].shape(), ", "), fmt::join(parameters[i]->shape(), ", ")));
  Runtime& runtime = begin(parameters);
  update_all(parameters, gradients, upload(runtime));
  ++steps_;
  for (const Tensor* x : parameters) also.push_back(*x);
  also.insert(also.end(), state_.begin(), state_.end());
  realize(also);
}

NamedTensors Optimiser::state() const {
  NamedTensors out;
  for (size_t i = 0; i < state_.size(); ++i) out.emplace(fmt::format("{}.{}", i / states_, i % states_), state_[i]);
  if (!out.empty()) out.emplace("steps", Tensor::full(*state_[0].runtime(), {}, steps_, DType::int32));
  return out;
}

void Optimiser::set_state(const Parameters& parameters, const NamedTensors& state) {
  const bool fresh = state_.empty();
  begin(parameters);
  try {
    take(state);
  } catch (...) {
    if (fresh) state_.clear();
    throw;
  }
}

// Into the tensors that are there, which a Trainer points at; none of them before all is known to fit.
void Optimiser::take(const NamedTensors& state) {
  const NamedTensors own = this->state();
  for (const auto& [name, x] : own)
    if (const auto found = state.find(name); found == state.end() || found->second.shape() != x.shape())
      throw UsageError(fmt::format(
          "set_state: '{}' is {}, and here [{}]; give the state of an optimiser of this kind and of these parameters.",
          name, found == state.end() ? "missing" : fmt::format("[{}]", fmt::join(found->second.shape(), ", ")),
          fmt::join(x.shape(), ", ")));
  if (state.size() != own.size())
    throw UsageError(
        fmt::format("set_state: {} tensors, where this optimiser has {}; give the state of one of its kind.",
                    state.size(), own.size()));
  if (own.empty()) return;
  const int steps = state.at("steps").cast(DType::int32).to_host_int32()[0];
  if (steps < 0) throw UsageError(fmt::format("set_state: {} steps; give the state as state() returned it.", steps));
  std::vector<Tensor> taken;
  for (size_t i = 0; i < state_.size(); ++i)
    taken.push_back(state.at(fmt::format("{}.{}", i / states_, i % states_)).cast(DType::fp32).realize());
  std::move(taken.begin(), taken.end(), state_.begin());
  steps_ = steps;
}

std::vector<double> SGD::numbers() { return {options.rate}; }

Tensor SGD::update(const Tensor& x, Tensor g, std::span<Tensor> state, const std::vector<Tensor>& numbers) {
  if (options.weight_decay != 0) g = g + x * options.weight_decay;
  if (!state.empty()) g = state[0] = state[0] * options.momentum + g;
  return x - g * numbers[0];
}

Adam::Adam(const AdamOptions& options_, bool decoupled, float decay)
    : Optimiser(2, decoupled ? 3 : 2), options(options_), decoupled_(decoupled) {
  if (!options.weight_decay) options.weight_decay = decay;
}

std::vector<double> Adam::numbers() {
  const double rate = options.rate / (1 - std::pow(double(options.beta1), steps_ + 1));
  const double correction = 1 / std::sqrt(1 - std::pow(double(options.beta2), steps_ + 1));
  std::vector<double> out{rate, correction};
  if (decoupled_) out.push_back(1 - double(options.rate) * *options.weight_decay);
  return out;
}

Tensor Adam::update(const Tensor& x, Tensor g, std::span<Tensor> state, const std::vector<Tensor>& numbers) {
  const double b1 = options.beta1, b2 = options.beta2;
  Tensor &mean = state[0], &square = state[1];
  if (!decoupled_ && *options.weight_decay != 0) g = g + x * *options.weight_decay;
  mean = mean * b1 + g * (1 - b1);
  square = square * b2 + g * g * (1 - b2);
  const Tensor change = mean * numbers[0] * reciprocal(sqrt(square) * numbers[1] + options.epsilon);
  return (decoupled_ ? x * numbers[2] : x) - change;
}

}  // namespace baretile::nn
