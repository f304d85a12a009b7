// The graph of a llama decoder: what fusion must make of it, for one token and for a prompt.

#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

struct Config {
  i64 layers, vocabulary, width, hidden, heads, kv_heads, context;
  static constexpr i64 kHead = 64;
};

struct Layer {
  Tensor norm1, qkv, out, norm2, gate, up, down, keys, values;
};

struct Model {
  Config c;
  Tensor embedding, final_norm, cos, sin, causal;
  std::vector<Layer> layers;

  explicit Model(Config config) : c(config) {
    auto weight = [](i64 rows, i64 cols) { return input({rows, cols}, DType::bf16); };
    embedding = weight(c.vocabulary, c.width);
    final_norm = input({c.width});
    cos = input({c.context, Config::kHead});
    sin = input({c.context, Config::kHead});
    causal = input({c.context, c.context});
    for (i64 n = 0; n < c.layers; ++n) {
      layers.push_back({input({c.width}), weight(c.width, (c.heads + 2 * c.kv_heads) * Config::kHead),
                        weight(c.width, c.width), input({c.width}), weight(c.width, c.hidden),
                        weight(c.width, c.hidden), weight(c.hidden, c.width),
                        input({c.kv_heads, c.context, Config::kHead}), input({c.kv_heads, c.context, Config::kHead})});
    }
  }

  Tensor attention(Layer& layer, const Tensor& x, const Tensor& positions) {
    const i64 m = x.size(0), d = Config::kHead, rotated = c.heads + c.kv_heads;
    Tensor qkv = matmul(rms_norm(x, layer.norm1), layer.qkv).reshape({m, rotated + c.kv_heads, d}).permute({1, 0, 2});
    Tensor qk = rope(qkv.slice(0, 0, rotated), gather_rows(cos, positions), gather_rows(sin, positions));
    layer.keys.assign_rows(positions, qk.slice(0, c.heads, rotated));
    layer.values.assign_rows(positions, qkv.slice(0, rotated, rotated + c.kv_heads));
    Tensor q = qk.slice(0, 0, c.heads).reshape({c.kv_heads, c.heads / c.kv_heads, m, d});
    Tensor k = layer.keys.reshape({c.kv_heads, 1, c.context, d}),
           v = layer.values.reshape({c.kv_heads, 1, c.context, d});
    Tensor scores = matmul(q, k.transpose()) * 0.125f + gather_rows(causal, positions);
    Tensor heads = matmul(softmax(scores), v).reshape({c.heads, m, d}).permute({1, 0, 2}).reshape({m, c.width});
    return x + matmul(heads, layer.out);
  }

  Tensor step(const Tensor& ids, const Tensor& positions, const Tensor& last) {
    Tensor x = gather_rows(embedding, ids).cast(DType::fp32);
    for (Layer& layer : layers) {
      x = attention(layer, x, positions);
      Tensor h = rms_norm(x, layer.norm2);
      x = x + matmul(silu(matmul(h, layer.gate)) * matmul(h, layer.up), layer.down);
    }
    if (x.size(0) > 1) x = gather_rows(x, last);
    return matmul(rms_norm(x, final_norm), embedding.transpose());
  }

  std::vector<Tensor> caches() const {
    std::vector<Tensor> out;
    for (const Layer& layer : layers) {
      out.push_back(layer.keys);
      out.push_back(layer.values);
    }
    return out;
  }
};

constexpr Config kSmall{2, 96, 192, 160, 3, 1, 64};
constexpr Config kSmolLM2{30, 49152, 576, 1536, 9, 3, 512};

std::vector<Tensor> one_step(Model& model, i64 rows) {
  auto index = [](i64 n) { return input({n}, DType::int32); };
  std::vector<Tensor> wanted = {model.step(index(rows), index(rows), index(1))};
  for (const Tensor& cache : model.caches()) wanted.push_back(cache);
  return wanted;
}

TEST(Llama, SmallModelMatchesTheReferenceForOneTokenAndForAPrompt) {
  for (i64 rows : {1, 5, 37}) {
    Model model(kSmall);
    Result r = checked(one_step(model, rows), 1e-3, rows == 1 ? 37 : rows);
    EXPECT_EQ(r.copies(), 0u) << to_string(r.schedule);
  }
}

TEST(Llama, TwelveLaunchesALayerAndNoCopies) {
  for (i64 rows : {1, 37}) {
    Model model(kSmolLM2);
    auto tensors = one_step(model, rows);
    Result r = scheduled(tensors);
    // Before and after the layers: the embedding, three tables, the last row of a prompt, its norm and the logits.
    EXPECT_EQ(r.schedule.launches.size(), 30u * 12 + 6 + (rows > 1)) << to_string(r.schedule);
    EXPECT_LE(r.schedule.kernels.size(), 20u);
    EXPECT_EQ(r.copies(), 0u);
    for (const KernelSpec& kernel : r.schedule.kernels) {
      const bool moves = kernel.kind == KernelKind::move;
      EXPECT_TRUE(moves || kernel.compute.one_row == (kernel.compute.rows == 1)) << to_string(kernel);
      EXPECT_TRUE(rows > 1 || moves || kernel.compute.one_row) << to_string(kernel);
    }
  }
}

TEST(Llama, EveryTokenHasTheSameGraphSoThatItsProgramIsFound) {
  Model model(kSmolLM2);
  const auto graph_of_a_step = [&] {
    Model again = model;
    auto tensors = one_step(again, 1);
    return capture(tensors).graph;
  };
  const Graph first = graph_of_a_step(), second = graph_of_a_step();
  EXPECT_EQ(first, second);
  EXPECT_EQ(hash(first), hash(second));
}

}  // namespace
}  // namespace baretile::compiler::test
