// A Llama forward pass in plain loops on the host: fp32 arithmetic over the weights as the device stores them (bf16).
// The yardstick for the device's logits, not a fast path.
//   ReferenceLlama model(gguf);  std::span<const float> logits = model.forward(prompt);  logits =
//   model.forward({{next}});
#pragma once
#include <span>
#include <vector>

#include "models/llama_config.h"

namespace baretile {

class ReferenceLlama {
 public:
  explicit ReferenceLlama(const Gguf& gguf, int layers = 0);  // the first `layers` only; 0 takes all

  // Appends tokens to the sequence and returns the logits after the last, valid until the next call. UsageError when a
  // token is outside the vocabulary, there is none, or the context is full.
  std::span<const float> forward(std::span<const int> tokens);
  void reset();  // forgets the sequence

  const LlamaConfig& config() const { return config_; }  // `layers` is what is computed
  int position() const { return position_; }

 private:
  struct Matrix {
    u64 columns;
    std::vector<u16> words;
  };
  struct Layer {
    std::vector<float> attn_norm, ffn_norm;
    Matrix q, k, v, output, gate, up, down;
    std::vector<float> keys, values;  // one row of kv_width a position
  };
  using Rows = std::vector<float>;  // one row a token

  static Rows multiply(const Matrix& matrix, std::span<const float> x);
  Matrix load(const Gguf& gguf, std::string_view name) const;
  Rows norm(const Rows& x, const std::vector<float>& weight) const;
  void rotate(Rows& x, int heads) const;
  Rows attend(const Layer& layer, const Rows& q) const;
  void run(Layer& layer, Rows& x) const;

  LlamaConfig config_;
  std::vector<Layer> layers_;
  Matrix embedding_, output_;  // output_ is empty when the embedding serves
  std::vector<float> output_norm_, logits_;
  int position_ = 0;
};

}  // namespace baretile
