// Neural networks: layers and losses are plain functions, optimisers are values.
//   nn::Linear layer = nn::Linear::init(rt, 784, 10, random);  nn::SGD sgd({.rate = 0.1});
//   Tensor loss = nn::cross_entropy(layer(images), labels);
//   nn::Parameters parameters = layer.parameters();
//   sgd.step(parameters, nn::gradients(loss, parameters), {loss});  // forward, backward and update as one Program
// A Trainer does these four lines, traced once.
#pragma once
#include <optional>
#include <random>

#include "baretile/autograd.h"
#include "baretile/files.h"
#include "baretile/jit.h"

#pragma GCC visibility push(default)
namespace baretile {
namespace nn {

// The handles that hold a model's weights; a step makes them hold the next ones.
using Parameters = std::vector<Tensor*>;
std::vector<Tensor> gradients(const Tensor& loss, const Parameters& parameters);

// --- layers ---
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});  // x · weightᵀ + bias, weight [out, in]
Tensor embedding(const Tensor& table, const Tensor& index);                     // [..., c] of [m, c] by int32 [...]
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon = 1e-5f);
struct AttentionOptions {
  Tensor mask = {};                  // boolean: what is seen; else it is added to the scores
  bool causal = false;               // the last query sees all of the span, each other one key less than the next
  std::optional<double> scale = {};  // 1 / sqrt(d) else
};
// softmax(scale · query · keyᵀ + mask) · value over [..., rows, d], [..., span, d], [..., span, e]; leading axes
// broadcast. Axis -3 counts heads: with fewer of keys and values than of queries, neighbouring queries share one. One
// launch that stores no score, in the queries', keys' and values' dtype; the gradient computes the scores again. A row
// that sees nothing gives 0. Of Precision::full, and with e above 160, it is two products and a softmax.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options);
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const Tensor& mask = {}) {
  return scaled_dot_product_attention(query, key, value, AttentionOptions{.mask = mask});
}
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

class Optimiser {
 public:
  virtual ~Optimiser() = default;
  // Computes `also` (a loss, say), the new weights and the optimiser's own state in one Program. The options may change
  // between steps; nothing is compiled again for another rate, nor for AdamW's decay.
  void step(const Parameters& parameters, const std::vector<Tensor>& gradients, std::vector<Tensor> also = {});

  // What it remembers, to be saved beside the weights: the number of its steps and tensors of the parameters' shapes.
  // Empty before the first step or Trainer, and of SGD without momentum always.
  NamedTensors state() const;
  // Goes on from there, also in a Trainer; UsageError, and nothing changed, where it is not of these parameters.
  void set_state(const Parameters& parameters, const NamedTensors& state);

 protected:
  Optimiser(size_t states, size_t numbers) : states_(states), numbers_(numbers) {}
  int steps_ = 0;  // that the parameters have made; one that failed is none

 private:
  friend class Trainer;
  // What comes from memory in the next step: as part of the expression it would be compiled each time.
  virtual std::vector<double> numbers() = 0;
  // The new value of x; its state gets new ones too.
  virtual Tensor update(const Tensor& x, Tensor g, std::span<Tensor> state, const std::vector<Tensor>& numbers) = 0;

  Runtime& begin(const Parameters& parameters);
  void take(const NamedTensors& state);
  std::vector<Tensor> upload(Runtime& runtime);
  void update_all(const Parameters& parameters, const std::vector<Tensor>& gradients,
                  const std::vector<Tensor>& numbers);
  size_t states_, numbers_;    // tensors for each parameter, and what numbers() gives
  std::vector<Tensor> state_;  // those of a parameter side by side
};

// Defaults are PyTorch's.
struct SGDOptions {
  float rate = 1e-3f, momentum = 0, weight_decay = 0;
};
class SGD : public Optimiser {
 public:
  explicit SGD(SGDOptions options_) : Optimiser(options_.momentum != 0, 1), options(options_) {}
  SGDOptions options;

 private:
  std::vector<double> numbers() override;
  Tensor update(const Tensor& x, Tensor g, std::span<Tensor> state, const std::vector<Tensor>& numbers) override;
};

struct AdamOptions {
  float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  std::optional<float> weight_decay = {};  // else 0, or 0.01 of AdamW
};
class Adam : public Optimiser {
 public:
  explicit Adam(const AdamOptions& options_) : Adam(options_, false, 0) {}
  AdamOptions options;

 protected:
  Adam(const AdamOptions& options_, bool decoupled, float decay);

 private:
  std::vector<double> numbers() override;
  Tensor update(const Tensor& x, Tensor g, std::span<Tensor> state, const std::vector<Tensor>& numbers) override;
  bool decoupled_;
};
class AdamW : public Adam {  // its decay shrinks the weights themselves
 public:
  explicit AdamW(const AdamOptions& options_) : Adam(options_, true, 0.01f) {}
};

// --- training ---
// Loss, gradients and the optimiser's update, traced once for a shape of the batch and replayed. Parameters and
// optimiser must outlive it; of the options only those may change that step() compiles nothing for.
class Trainer {
 public:
  using Loss = std::function<Tensor(const std::vector<Tensor>& batch)>;
  // `clip`: what clip_grad_norm gets, if not 0.
  Trainer(Loss loss, const Parameters& parameters, Optimiser& optimiser, float clip = 0);
  Tensor operator()(const std::vector<Tensor>& batch);  // the loss before the update

 private:
  Parameters parameters_;
  Optimiser& optimiser_;
  Jit step_;
};

}  // namespace nn
}  // namespace baretile
#pragma GCC visibility pop
