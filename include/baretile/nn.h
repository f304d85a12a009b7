// Neural networks: layers and losses are plain functions, optimisers are values.
//   nn::Linear layer = nn::Linear::init(rt, 784, 10, random);  nn::SGD sgd({.rate = 0.1});
//   Tensor loss = nn::cross_entropy(layer(images), labels);
//   nn::Parameters parameters = layer.parameters();
//   sgd.step(parameters, nn::gradients(loss, parameters), {loss});  // forward, backward and update as one Program
#pragma once
#include <random>

#include "baretile/autograd.h"

namespace baretile::nn {

// The handles that hold a model's weights; a step makes them hold the next ones.
using Parameters = std::vector<Tensor*>;
std::vector<Tensor> gradients(const Tensor& loss, const Parameters& parameters);

// --- layers ---
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});  // x · weightᵀ + bias, weight [out, in]
Tensor embedding(const Tensor& table, const Tensor& index);                     // [..., c] of [m, c] by int32 [...]
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon = 1e-5f);
// softmax(query · keyᵀ / sqrt(d) + mask) · value over [..., rows, d], [..., span, d], [..., span, e]; leading axes
// broadcast. A boolean mask says what is seen, another is added. The next line's mask hides what comes later.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask = {});
Tensor causal_mask(Runtime& runtime, i64 rows, i64 span);  // the last of the rows sees all of the span

struct Linear {
  Tensor weight, bias;  // [out, in], [out]
  // Uniform within 1 / sqrt(in), as PyTorch has it.
  static Linear init(Runtime& runtime, i64 in, i64 out, std::mt19937& random, DType dtype = DType::fp32);
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
  Parameters parameters() { return {&weight, &bias}; }
};

// Linear layers with an activation between them.
struct MLP {
  std::vector<Linear> layers;
  Tensor (*activation)(const Tensor&) = relu;
  static MLP init(Runtime& runtime, std::span<const i64> widths, std::mt19937& random, DType dtype = DType::fp32);
  Tensor operator()(const Tensor& x) const;
  Parameters parameters();
};

// --- losses: of shape [], means over all elements ---
Tensor mse(const Tensor& x, const Tensor& target);
Tensor log_softmax(const Tensor& x, i64 axis = -1);
Tensor cross_entropy(const Tensor& logits, const Tensor& labels);  // [n, classes], integers [n]

// --- optimisers ---
// The length of all gradients together. They are scaled so that it is at most `largest`.
Tensor clip_grad_norm(std::vector<Tensor>& gradients, float largest);

// step() computes `also` (a loss, say), the new weights and the optimiser's own state in one Program. The options may
// change between steps; nothing is compiled again for it.
struct SGDOptions {
  float rate = 1e-3f, momentum = 0, weight_decay = 0;
};
class SGD {
 public:
  explicit SGD(SGDOptions options_) : options(options_) {}
  void step(const Parameters& parameters, const std::vector<Tensor>& gradients, std::vector<Tensor> also = {});
  SGDOptions options;

 private:
  std::vector<Tensor> velocity_;
};

struct AdamOptions {
  float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float weight_decay = 0;
  bool decoupled = false;  // weight decay shrinks the weights themselves: AdamW
};
class Adam {
 public:
  explicit Adam(AdamOptions options_) : options(options_) {}
  void step(const Parameters& parameters, const std::vector<Tensor>& gradients, std::vector<Tensor> also = {});
  AdamOptions options;

 private:
  std::vector<Tensor> mean_, square_;
  int steps_ = 0;
};
class AdamW : public Adam {  // its usual decay is 0.01
 public:
  explicit AdamW(AdamOptions options_) : Adam(options_) { options.decoupled = true; }
};

}  // namespace baretile::nn
