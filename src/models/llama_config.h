// Shape of a Llama model and the names of its tensors, read from a GGUF file and checked against it; shared by the host
// reference and the device's forward pass.
//   const LlamaConfig config = read_llama_config(gguf);
//   std::vector<u16> q = load_matrix(gguf, config, layer_tensor(0, "attn_q"));
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/gguf.h"

namespace baretile {

struct LlamaConfig {
  int layers = 0, width = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, context = 0, vocab = 0;
  float rms_eps = 0, rope_theta = 0;
  bool tied_embedding = false;  // the output matrix is the embedding

  int q_width() const { return heads * head_dim; }
  int kv_width() const { return kv_heads * head_dim; }
};

inline constexpr std::string_view kEmbedding = "token_embd.weight", kOutputNorm = "output_norm.weight",
                                  kOutput = "output.weight";
std::string layer_tensor(int layer, std::string_view part);  // "blk.<layer>.<part>.weight"

// UsageError or Unsupported when the file is no Llama model that baretile computes exactly: another architecture,
// scaled rotary embedding, missing or wrongly shaped tensors, or tensors that the forward pass would ignore.
LlamaConfig read_llama_config(const Gguf& gguf);

// A matrix row by row as the device stores it: bf16, rounded to nearest even, and q and k in Hugging Face's row order
// (GGUF interleaves the two halves of each head).
std::vector<u16> load_matrix(const Gguf& gguf, const LlamaConfig& config, std::string_view name);
std::vector<float> load_norm(const Gguf& gguf, std::string_view name);

}  // namespace baretile
