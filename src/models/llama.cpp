#include "models/llama.h"

#include <fmt/format.h>

#include <cmath>

#include "baretile/error.h"
#include "baretile/nn.h"
#include "baretile/runtime.h"

namespace baretile {
namespace {

constexpr i64 kTile = 32;
constexpr float kMasked = -1e30f;  // added to a score, leaves e to the power of it at 0

Tensor load(Runtime& runtime, const Gguf& gguf, const LlamaConfig& config, const std::vector<std::string>& names, i64 columns) {
  std::vector<u16> rows;
  for (const std::string& name : names) {
    const std::vector<u16> part = load_matrix(gguf, config, name);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return Tensor::from_host_bf16(runtime, rows, {i64(rows.size()) / columns, columns});
}

Tensor load_vector(Runtime& runtime, const Gguf& gguf, std::string_view name) {
  const std::vector<float> values = load_norm(gguf, name);
  return Tensor::from_host(runtime, values, {i64(values.size())});
}

// x · weightᵀ, for weights stored as [out, in].
Tensor project(const Tensor& x, const Tensor& weight) { return matmul(x, weight.transpose()); }

}  // namespace

Llama::Llama(Runtime& runtime, const Gguf& gguf, const LlamaOptions& options) : runtime_(&runtime), config_(read_llama_config(gguf)) {
  if (options.layers < 0 || options.layers > config_.layers)
    throw UsageError(fmt::format("{} has {} layers, so the first {} cannot be taken", gguf.path(), config_.layers, options.layers));
  if (options.layers) config_.layers = options.layers;
  if (options.context < 1 || options.context > config_.context)
    throw UsageError(fmt::format("{} was made for 1 to {} positions, not for a context of {}", gguf.path(), config_.context, options.context));
  context_ = int(round_up(u64(options.context), kTile));

  const int parts = config_.layers + 1;
  embedding_ = load(runtime, gguf, config_, {std::string(kEmbedding)}, config_.width);
  output_ = config_.tied_embedding ? embedding_ : load(runtime, gguf, config_, {std::string(kOutput)}, config_.width);
  output_norm_ = load_vector(runtime, gguf, kOutputNorm);
  if (options.loaded) options.loaded(1, parts);
  for (int n = 0; n < config_.layers; n++) {
    const auto name = [&](std::string_view part) { return layer_tensor(n, part); };
    layers_.push_back({
        .attn_norm = load_vector(runtime, gguf, name("attn_norm")),
        .ffn_norm = load_vector(runtime, gguf, name("ffn_norm")),
        .q_k_v = load(runtime, gguf, config_, {name("attn_q"), name("attn_k"), name("attn_v")}, config_.width),
        .output = load(runtime, gguf, config_, {name("attn_output")}, config_.q_width()),
        .gate = load(runtime, gguf, config_, {name("ffn_gate")}, config_.width),
        .up = load(runtime, gguf, config_, {name("ffn_up")}, config_.width),
        .down = load(runtime, gguf, config_, {name("ffn_down")}, config_.ffn),
        .cache = Tensor::zeros(runtime, {2 * config_.kv_heads, context_, config_.head_dim}),
    });
    if (options.loaded) options.loaded(n + 2, parts);
  }
}

Llama::Step Llama::make_step(std::span<const int> tokens) const {
  const i64 rows = i64(tokens.size()), end = position_ + rows, half = config_.head_dim / 2, turned = config_.heads + config_.kv_heads;
  // Spans double, so that a growing sequence meets few shapes.
  i64 span = kTile;
  while (span < end) span *= 2;
  span = std::min<i64>(span, context_);

  std::vector<i32> positions;
  std::vector<float> mask(size_t(rows * span), kMasked);
  std::vector<float> cos(size_t((turned + config_.kv_heads) * rows * 2 * half), 1), sin(cos.size(), 0);
  for (i64 r = 0; r < rows; r++) {
    positions.push_back(i32(position_ + r));
    std::fill_n(mask.begin() + r * span, position_ + r + 1, 0.0f);
    for (i64 i = 0; i < half; i++) {
      const double angle = double(positions.back()) * std::pow(double(config_.rope_theta), -double(i) / double(half));
      for (i64 head = 0; head < turned; head++) {
        const size_t at = size_t(((head * rows + r) * 2) * half + i), other = at + size_t(half);
        cos[at] = cos[other] = float(std::cos(angle));
        sin[at] = -float(std::sin(angle));
        sin[other] = float(std::sin(angle));
      }
    }
  }
  const Shape by_head{turned + config_.kv_heads, rows, 2 * half};
  return {.rows = rows,
          .span = span,
          .positions = Tensor::from_host(*runtime_, std::span<const i32>(positions), {rows}),
          .cos = Tensor::from_host(*runtime_, cos, by_head),
          .sin = Tensor::from_host(*runtime_, sin, by_head),
          .mask = Tensor::from_host(*runtime_, mask, {rows, span})};
}

Tensor Llama::attention(Layer& layer, const Tensor& x, const Step& step) const {
  const i64 heads = config_.heads, kv = config_.kv_heads, dim = config_.head_dim, group = heads / kv;
  const Tensor projected = project(rms_norm(x, layer.attn_norm, config_.rms_eps), layer.q_k_v);
  const Tensor turned = rope(projected.reshape({step.rows, heads + 2 * kv, dim}).permute({1, 0, 2}), step.cos, step.sin);
  layer.cache.assign_rows(step.positions, turned.slice(0, heads, heads + 2 * kv));
  const Tensor seen = layer.cache.slice(1, 0, step.span);
  const auto heads_of = [&](const Tensor& x, i64 first, i64 each) { return x.slice(0, first, first + kv * each).reshape({kv, each, x.size(1), dim}); };
  const Tensor mixed = nn::scaled_dot_product_attention(heads_of(turned, 0, group), heads_of(seen, 0, 1), heads_of(seen, kv, 1), {.mask = step.mask});
  return mixed.reshape({heads, step.rows, dim}).permute({1, 0, 2}).reshape({step.rows, heads * dim});
}

Tensor Llama::run(Layer& layer, const Tensor& x, const Step& step) const {
  const Tensor attended = x + project(attention(layer, x, step), layer.output);
  const Tensor h = rms_norm(attended, layer.ffn_norm, config_.rms_eps);
  return attended + project(silu(project(h, layer.gate)) * project(h, layer.up), layer.down);
}

std::vector<float> Llama::forward(std::span<const int> tokens) {
  if (tokens.empty()) throw UsageError("a Llama pass needs at least one token");
  if (position_ + i64(tokens.size()) > context_)
    throw UsageError(fmt::format("{} tokens after {} do not fit the context of {}; make the model with a larger LlamaOptions::context", tokens.size(), position_, context_));
  for (const int token : tokens)
    if (token < 0 || token >= config_.vocab) throw UsageError(fmt::format("token {} is outside the vocabulary of {}", token, config_.vocab));

  const Step step = make_step(tokens);
  const Tensor ids = Tensor::from_host(*runtime_, std::span<const i32>(tokens.data(), tokens.size()), {step.rows});
  Tensor x = gather_rows(embedding_, ids).cast(DType::fp32);
  for (Layer& layer : layers_) x = run(layer, x, step);
  if (step.rows > 1) {
    const i32 last = i32(step.rows - 1);
    x = gather_rows(x, Tensor::from_host(*runtime_, std::span(&last, 1), {1}));
  }
  const Tensor logits = project(rms_norm(x, output_norm_, config_.rms_eps), output_);
  std::vector<Tensor> results{logits};
  for (const Layer& layer : layers_) results.push_back(layer.cache);
  realize(results);
  position_ += int(tokens.size());
  return logits.to_host();
}

}  // namespace baretile
