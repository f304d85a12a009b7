#include "models/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "baretile/error.h"

namespace baretile {
namespace {

constexpr u64 kParallelWork = 1 << 18;  // multiply-adds below which a second thread costs more than it saves
constexpr int kLanes = 16;              // independent sums, so that the compiler may vectorise

float dot(const float* a, const float* b, u64 size) {
  float sums[kLanes] = {};
  u64 i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  float total = 0;
  for (; i < size; ++i) total += a[i] * b[i];
  for (float sum : sums) total += sum;
  return total;
}

void add(std::vector<float>& x, const std::vector<float>& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

ReferenceLlama::ReferenceLlama(const Gguf& gguf, int layers) : config_(read_llama_config(gguf)) {
  if (layers < 0 || layers > config_.layers)
    throw UsageError(
        fmt::format("{} layers asked of {}, which has {}; 0 takes all", layers, gguf.path(), config_.layers));
  if (layers > 0) config_.layers = layers;
  for (int i = 0; i < config_.layers; ++i) {
    const auto part = [&](const char* name) { return load(gguf, layer_tensor(i, name)); };
    layers_.push_back({load_norm(gguf, layer_tensor(i, "attn_norm")),
                       load_norm(gguf, layer_tensor(i, "ffn_norm")),
                       part("attn_q"),
                       part("attn_k"),
                       part("attn_v"),
                       part("attn_output"),
                       part("ffn_gate"),
                       part("ffn_up"),
                       part("ffn_down"),
                       {},
                       {}});
  }
  embedding_ = load(gguf, kEmbedding);
  if (!config_.tied_embedding) output_ = load(gguf, kOutput);
  output_norm_ = load_norm(gguf, kOutputNorm);
}

ReferenceLlama::Matrix ReferenceLlama::load(const Gguf& gguf, std::string_view name) const {
  return {gguf.tensor(name).columns(), load_matrix(gguf, config_, name)};
}

void ReferenceLlama::reset() {
  position_ = 0;
  for (Layer& layer : layers_) {
    layer.keys.clear();
    layer.values.clear();
  }
}

// x holds rows of matrix.columns; the result has a row of products with every matrix row for each.
ReferenceLlama::Rows ReferenceLlama::multiply(const Matrix& matrix, std::span<const float> x) {
  const u64 columns = matrix.columns, rows = matrix.words.size() / columns, tokens = x.size() / columns;
  Rows out(tokens * rows);
  const auto part = [&](u64 first, u64 last) {
    std::vector<float> weights(columns);
    for (u64 row = first; row < last; ++row) {
      for (u64 i = 0; i < columns; ++i) weights[i] = bf16_to_float(matrix.words[row * columns + i]);
      for (u64 token = 0; token < tokens; ++token)
        out[token * rows + row] = dot(weights.data(), &x[token * columns], columns);
    }
  };
  if (rows * columns * tokens < kParallelWork) {
    part(0, rows);
  } else {
    std::jthread other([&] { part(rows / 2, rows); });
    part(0, rows / 2);
  }
  return out;
}

ReferenceLlama::Rows ReferenceLlama::norm(const Rows& x, const std::vector<float>& weight) const {
  const size_t width = weight.size();
  Rows out(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    const float scale = 1 / std::sqrt(dot(&x[row], &x[row], width) / static_cast<float>(width) + config_.rms_eps);
    for (size_t i = 0; i < width; ++i) out[row + i] = x[row + i] * scale * weight[i];
  }
  return out;
}

// Rotary embedding: element j of a head turns with element j + head_dim / 2 (Hugging Face's order).
void ReferenceLlama::rotate(Rows& x, int heads) const {
  const int half = config_.head_dim / 2;
  const size_t tokens = x.size() / (heads * config_.head_dim);
  for (size_t token = 0; token < tokens; ++token)
    for (int j = 0; j < half; ++j) {
      const double angle = static_cast<double>(position_ + token) *
                           std::pow(static_cast<double>(config_.rope_theta), -static_cast<double>(j) / half);
      const float cos = static_cast<float>(std::cos(angle)), sin = static_cast<float>(std::sin(angle));
      for (int head = 0; head < heads; ++head) {
        float* at = &x[(token * heads + head) * config_.head_dim + j];
        const float a = at[0], b = at[half];
        at[0] = a * cos - b * sin;
        at[half] = b * cos + a * sin;
      }
    }
}

ReferenceLlama::Rows ReferenceLlama::attend(const Layer& layer, const Rows& q) const {
  const size_t dim = config_.head_dim, q_width = config_.q_width(), kv_width = config_.kv_width();
  const float scale = 1 / std::sqrt(static_cast<float>(dim));
  Rows out(q.size());
  for (size_t token = 0; token < q.size() / q_width; ++token)
    for (int head = 0; head < config_.heads; ++head) {
      const size_t at = token * q_width + head * dim, kv = head / (config_.heads / config_.kv_heads) * dim;
      std::vector<float> weights(position_ + token + 1);
      for (size_t i = 0; i < weights.size(); ++i) weights[i] = scale * dot(&q[at], &layer.keys[i * kv_width + kv], dim);
      const float most = *std::ranges::max_element(weights);
      float sum = 0;
      for (float& weight : weights) sum += weight = std::exp(weight - most);
      for (size_t i = 0; i < weights.size(); ++i)
        for (size_t j = 0; j < dim; ++j) out[at + j] += weights[i] / sum * layer.values[i * kv_width + kv + j];
    }
  return out;
}

void ReferenceLlama::run(Layer& layer, Rows& x) const {
  Rows h = norm(x, layer.attn_norm);
  Rows q = multiply(layer.q, h), k = multiply(layer.k, h);
  const Rows v = multiply(layer.v, h);
  rotate(q, config_.heads);
  rotate(k, config_.kv_heads);
  layer.keys.insert(layer.keys.end(), k.begin(), k.end());
  layer.values.insert(layer.values.end(), v.begin(), v.end());
  add(x, multiply(layer.output, attend(layer, q)));
  h = norm(x, layer.ffn_norm);
  Rows gate = multiply(layer.gate, h);
  const Rows up = multiply(layer.up, h);
  for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  add(x, multiply(layer.down, gate));
}

std::span<const float> ReferenceLlama::forward(std::span<const int> tokens) {
  if (tokens.empty()) throw UsageError("a forward pass needs at least one token; give a prompt that is not empty");
  if (tokens.size() > static_cast<size_t>(config_.context - position_))
    throw UsageError(fmt::format("{} tokens after {} do not fit the context of {}; shorten the prompt", tokens.size(),
                                 position_, config_.context));
  Rows x;
  for (int id : tokens) {
    if (id < 0 || id >= config_.vocab)
      throw UsageError(
          fmt::format("token {} is outside the vocabulary of {}; use the model's own tokenizer", id, config_.vocab));
    for (int i = 0; i < config_.width; ++i)
      x.push_back(bf16_to_float(embedding_.words[static_cast<size_t>(id) * config_.width + i]));
  }
  for (Layer& layer : layers_) run(layer, x);
  position_ += static_cast<int>(tokens.size());
  x.erase(x.begin(), x.end() - config_.width);  // only the last token's logits are asked for
  logits_ = multiply(config_.tied_embedding ? embedding_ : output_, norm(x, output_norm_));
  return logits_;
}

}  // namespace baretile
