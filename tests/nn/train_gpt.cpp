// Trains a small GPT on the bytes of files: train_gpt STEPS FILE..., on the device that BARETILE_DEVICE or the machine
// offers. tools/torch_losses.py does the same with PyTorch.
#include <baretile/baretile.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace baretile;

namespace {

constexpr i64 kBatch = 4, kContext = 32, kWidth = 64, kHeads = 2, kLayers = 2, kBytes = 256;

struct Norm {
  Tensor weight, bias;
  explicit Norm(Runtime& rt) : weight(Tensor::ones(rt, {kWidth})), bias(Tensor::zeros(rt, {kWidth})) {}
  Tensor operator()(const Tensor& x) const { return nn::layer_norm(x, weight, bias); }
};

struct Block {
  Norm first, second;
  nn::Linear qkv, out, up, down;

  Block(Runtime& rt, std::mt19937& random)
      : first(rt),
        second(rt),
        qkv(nn::Linear::init(rt, kWidth, 3 * kWidth, random)),
        out(nn::Linear::init(rt, kWidth, kWidth, random)),
        up(nn::Linear::init(rt, kWidth, 4 * kWidth, random)),
        down(nn::Linear::init(rt, 4 * kWidth, kWidth, random)) {}

  Tensor attention(const Tensor& x, const Tensor& mask) const {
    const Tensor parts = qkv(x).reshape({kBatch, kContext, 3, kHeads, kWidth / kHeads}).permute({2, 0, 3, 1, 4});
    const auto part = [&](i64 n) { return parts.slice(0, n, n + 1).squeeze(0); };
    const Tensor mixed = nn::scaled_dot_product_attention(part(0), part(1), part(2), mask);
    return out(mixed.permute({0, 2, 1, 3}).reshape({kBatch, kContext, kWidth}));
  }
  Tensor operator()(const Tensor& x, const Tensor& mask) const {
    const Tensor h = x + attention(first(x), mask);
    return h + down(gelu(up(second(h))));
  }
};

struct GPT {
  Tensor bytes, positions, mask;  // bytes: what each is read as, and what predicts it
  std::vector<Block> blocks;
  Norm last;

  GPT(Runtime& rt, std::mt19937& random) : mask(nn::causal_mask(rt, kContext, kContext)), last(rt) {
    bytes = nn::Linear::init(rt, kWidth, kBytes, random).weight;
    positions = nn::Linear::init(rt, kWidth, kContext, random).weight;
    for (i64 n = 0; n < kLayers; ++n) blocks.emplace_back(rt, random);
  }

  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    Tensor x = nn::embedding(bytes, tokens) + positions;
    for (const Block& block : blocks) x = block(x, mask);
    return nn::cross_entropy(nn::linear(last(x), bytes).reshape({-1, kBytes}), targets);
  }

  nn::Parameters parameters() {
    nn::Parameters all{&bytes, &positions, &last.weight, &last.bias};
    for (Block& b : blocks) {
      for (Norm* norm : {&b.first, &b.second}) all.insert(all.end(), {&norm->weight, &norm->bias});
      for (nn::Linear* linear : {&b.qkv, &b.out, &b.up, &b.down})
        for (Tensor* x : linear->parameters()) all.push_back(x);
    }
    return all;
  }
};

std::string read(int count, char** files) {
  std::string text;
  for (int n = 0; n < count; ++n) {
    std::ifstream file(files[n], std::ios::binary);
    if (!file) throw UsageError(std::string(files[n]) + " cannot be read; give text files.");
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  if (i64(text.size()) <= kContext + 1) throw UsageError("The files have too few bytes; give more text.");
  return text;
}

}  // namespace

int main(int count, char** words) try {
  if (count < 3) throw UsageError("usage: train_gpt STEPS FILE...");
  const std::string text = read(count - 2, words + 2);
  const DefaultPrecision precision(Precision::full);
  Runtime rt;
  std::mt19937 random(7);
  GPT model(rt, random);
  nn::AdamW optimiser({.rate = 3e-3f});
  nn::Trainer train([&](const auto& batch) { return model.loss(batch[0], batch[1]); }, model.parameters(), optimiser);
  for (int step = 0; step < std::atoi(words[1]); ++step) {
    std::vector<i32> tokens, targets;
    for (i64 n = 0; n < kBatch; ++n) {
      const size_t first = random() % (text.size() - kContext);
      for (size_t at = first; at < first + kContext; ++at) {
        tokens.push_back(u8(text[at]));
        targets.push_back(u8(text[at + 1]));
      }
    }
    const Tensor loss = train({Tensor::from_host(rt, std::span<const i32>(tokens), {kBatch, kContext}),
                               Tensor::from_host(rt, std::span<const i32>(targets), {kBatch * kContext})});
    std::printf("step %d: loss %.8f\n", step, loss.to_host()[0]);
    std::fflush(stdout);
  }
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
