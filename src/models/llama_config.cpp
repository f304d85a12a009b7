#include "models/llama_config.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "baretile/error.h"

namespace baretile {
namespace {

// Sizes in the metadata; the limits stop absurd files before anything is allocated, and keep products inside an int.
struct SizeKey {
  const char* key;
  int LlamaConfig::*member;
  i64 most;
};
constexpr SizeKey kSizes[] = {
    {"llama.block_count", &LlamaConfig::layers, 1024},
    {"llama.embedding_length", &LlamaConfig::width, 1 << 16},
    {"llama.feed_forward_length", &LlamaConfig::ffn, 1 << 18},
    {"llama.attention.head_count", &LlamaConfig::heads, 1024},
    {"llama.attention.head_count_kv", &LlamaConfig::kv_heads, 1024},
    {"llama.context_length", &LlamaConfig::context, 1 << 24},
};
constexpr i64 kMaxHeadDim = 1024, kMaxVocab = 1 << 24;

[[noreturn]] void refuse(const Gguf& gguf, const std::string& complaint) {
  throw UsageError(
      fmt::format("{}: {}; give a Llama model as llama.cpp's converter writes it", gguf.path(), complaint));
}

i64 size_value(const Gguf& gguf, const char* key, i64 most) {
  const i64 value = gguf.integer(key);
  if (value < 1 || value > most) refuse(gguf, fmt::format("{} is {}, not 1 to {}", key, value, most));
  return value;
}

int head_dim(const Gguf& gguf, const LlamaConfig& config) {
  i64 dim = config.width / config.heads;
  if (gguf.has("llama.attention.key_length"))
    dim = size_value(gguf, "llama.attention.key_length", kMaxHeadDim);
  else if (config.width % config.heads != 0)
    refuse(gguf, fmt::format("width {} is no multiple of {} heads", config.width, config.heads));
  if (dim % 2 != 0 || dim > kMaxHeadDim)
    refuse(gguf, fmt::format("heads of {} elements cannot be rotated in pairs", dim));
  for (const char* key : {"llama.attention.value_length", "llama.rope.dimension_count"})
    if (gguf.has(key) && gguf.integer(key) != dim)
      throw Unsupported(fmt::format("{}: {} is {}, but heads have {} elements; use a model where both agree",
                                    gguf.path(), key, gguf.integer(key), dim));
  return static_cast<int>(dim);
}

float positive(const Gguf& gguf, const char* key, double most) {
  const double value = gguf.real(key);
  if (!(value > 0 && value <= most))
    refuse(gguf, fmt::format("{} is {}, not above 0 and at most {}", key, value, most));
  return static_cast<float>(value);
}

using Shape = std::vector<u64>;

std::map<std::string, Shape, std::less<>> expected_shapes(const LlamaConfig& config) {
  const u64 width = config.width, ffn = config.ffn, q = config.q_width(), kv = config.kv_width(), vocab = config.vocab;
  std::map<std::string, Shape, std::less<>> shapes;
  shapes.emplace(kEmbedding, Shape{vocab, width});
  shapes.emplace(kOutputNorm, Shape{width});
  if (!config.tied_embedding) shapes.emplace(kOutput, Shape{vocab, width});
  const std::pair<const char*, Shape> parts[] = {
      {"attn_norm", {width}},     {"attn_q", {q, width}},      {"attn_k", {kv, width}},
      {"attn_v", {kv, width}},    {"attn_output", {width, q}}, {"ffn_norm", {width}},
      {"ffn_gate", {ffn, width}}, {"ffn_up", {ffn, width}},    {"ffn_down", {width, ffn}},
  };
  for (int layer = 0; layer < config.layers; ++layer)
    for (const auto& [part, shape] : parts) shapes.emplace(layer_tensor(layer, part), shape);
  return shapes;
}

void check_tensors(const Gguf& gguf, const LlamaConfig& config) {
  const auto shapes = expected_shapes(config);
  for (const auto& [name, shape] : shapes)
    if (gguf.tensor(name).shape != shape)
      refuse(gguf,
             fmt::format("tensor '{}' is {}, not {}", name, shape_text(gguf.tensor(name).shape), shape_text(shape)));
  for (const auto& [name, tensor] : gguf.tensors())
    if (!shapes.contains(name))
      throw Unsupported(
          fmt::format("{}: tensor '{}' is no part of a plain Llama model, and leaving it out would change the "
                      "result; use a model without it",
                      gguf.path(), name));
}

}  // namespace

std::string layer_tensor(int layer, std::string_view part) { return fmt::format("blk.{}.{}.weight", layer, part); }

LlamaConfig read_llama_config(const Gguf& gguf) {
  if (const std::string& name = gguf.text("general.architecture"); name != "llama")
    throw Unsupported(fmt::format("{}: architecture '{}'; only 'llama' is computed", gguf.path(), name));
  for (const char* key : {"llama.rope.scaling.type", "llama.rope.scale_linear", "llama.expert_count"})
    if (gguf.has(key))
      throw Unsupported(fmt::format("{}: {} is set, which the forward pass does not follow; use a model without it",
                                    gguf.path(), key));
  LlamaConfig config;
  for (const SizeKey& size : kSizes) config.*size.member = static_cast<int>(size_value(gguf, size.key, size.most));
  if (config.heads % config.kv_heads != 0)
    refuse(gguf, fmt::format("{} heads cannot share {} key/value heads", config.heads, config.kv_heads));
  config.head_dim = head_dim(gguf, config);
  const u64 vocab = gguf.texts("tokenizer.ggml.tokens").size();
  if (vocab == 0 || vocab > static_cast<u64>(kMaxVocab))
    refuse(gguf, fmt::format("the vocabulary has {} tokens", vocab));
  config.vocab = static_cast<int>(vocab);
  config.rms_eps = positive(gguf, "llama.attention.layer_norm_rms_epsilon", 1);
  config.rope_theta = gguf.has("llama.rope.freq_base") ? positive(gguf, "llama.rope.freq_base", 1e12) : 10000.0f;
  config.tied_embedding = !gguf.tensors().contains(kOutput);
  check_tensors(gguf, config);
  return config;
}

std::vector<u16> load_matrix(const Gguf& gguf, const LlamaConfig& config, std::string_view name) {
  const StoredTensor& tensor = gguf.tensor(name);
  const u64 columns = tensor.columns(), rows = tensor.rows();
  std::vector<u16> words(rows * columns);
  if (!name.ends_with(".attn_q.weight") && !name.ends_with(".attn_k.weight")) {
    read_rows_bf16(tensor, 0, words);
    return words;
  }
  const u64 dim = config.head_dim;
  for (u64 row = 0; row < rows; ++row) {  // the file's row 2j + i of a head is Hugging Face's row i * dim/2 + j
    const u64 head = row / dim, in_head = row % dim, to = head * dim + in_head % 2 * (dim / 2) + in_head / 2;
    read_rows_bf16(tensor, row, std::span(words).subspan(to * columns, columns));
  }
  return words;
}

std::vector<float> load_norm(const Gguf& gguf, std::string_view name) {
  const StoredTensor& tensor = gguf.tensor(name);
  std::vector<float> values(tensor.columns());
  read_rows(tensor, 0, values);
  return values;
}

}  // namespace baretile
