// A Llama model on a device: weights in bf16, everything else in fp32, keys and values kept on the device.
//   Llama model(runtime, gguf);  std::vector<float> logits = model.forward(prompt);  logits = model.forward({{next}});
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "baretile/tensor.h"
#include "models/llama_config.h"

namespace baretile {

struct LlamaOptions {
  int layers = 0;     // the first so many only; 0 takes all
  int context = 512;  // positions that the key and value caches hold, rounded up to whole tiles
  std::function<void(int done, int total)> loaded = {};  // called after each layer's weights
};

class Llama {
 public:
  Llama(Runtime& runtime, const Gguf& gguf, const LlamaOptions& options = {});

  // Appends tokens to the sequence, all in one pass, and returns the logits after the last. UsageError when a token is outside the
  // vocabulary, there is none, or the context is full.
  std::vector<float> forward(std::span<const int> tokens);
  void reset() { position_ = 0; }  // forgets the sequence

  const LlamaConfig& config() const { return config_; }  // `layers` is what is computed
  int context() const { return context_; }
  int position() const { return position_; }

 private:
  struct Layer {
    Tensor attn_norm, ffn_norm;                    // [width]
    Tensor q_k_v, output, gate, up, down;          // [out, in], as in the file
    Tensor cache;                                  // [2 * kv_heads, context, head_dim]: keys, then values
  };
  // What depends on the positions of one pass alone.
  struct Step {
    i64 rows, span;        // new tokens; positions that attention looks at, a whole number of tiles
    Tensor positions;      // int32 [rows]
    Tensor cos, sin;       // [heads + 2 * kv_heads, rows, head_dim]; values are turned by nothing
    Tensor mask;           // [rows, span]: 0, or far below any score
  };
  Step make_step(std::span<const int> tokens) const;
  Tensor attention(Layer& layer, const Tensor& x, const Step& step) const;
  Tensor run(Layer& layer, const Tensor& x, const Step& step) const;

  Runtime* runtime_;
  LlamaConfig config_;
  int context_ = 0, position_ = 0;
  std::vector<Layer> layers_;
  Tensor embedding_, output_norm_, output_;
};

}  // namespace baretile
