// One block of a transformer in training: embedding, norms, causal attention of several heads, a gated MLP.
#include "baretile/nn.h"
#include "nn/numbers.h"
#include "tensor/derivative.h"
#include "tensor/support.h"

namespace baretile::nn_test {
namespace {

using namespace tensor_test;

constexpr i64 kTokens = 33, kVocabulary = 11, kWidth = 32, kHeads = 2, kInner = 32;

class Transformer : public OnDevice {
 protected:
  Transformer() {
    for (const Shape& shape : std::vector<Shape>{{kVocabulary, kWidth},
                                                 {kWidth},
                                                 {3 * kWidth, kWidth},
                                                 {kWidth, kWidth},
                                                 {kWidth},
                                                 {kInner, kWidth},
                                                 {kInner, kWidth},
                                                 {kWidth, kInner}})
      values.push_back(numbers.eighths(shape, shape.size() == 1 ? 1 : 0.5));
  }

  // [kTokens, kVocabulary]
  static Tensor logits(const Tensors& w, const Tensor& tokens, const Tensor& mask) {
    const Tensor x = nn::embedding(w[0], tokens);
    const Tensor qkv =
        nn::linear(rms_norm(x, w[1]), w[2]).reshape({kTokens, 3 * kHeads, kWidth / kHeads}).permute({1, 0, 2});
    const auto part = [&](i64 n) { return qkv.slice(0, n * kHeads, (n + 1) * kHeads); };
    const Tensor mixed = nn::scaled_dot_product_attention(part(0), part(1), part(2), mask);
    const Tensor h = x + nn::linear(mixed.permute({1, 0, 2}).reshape({kTokens, kWidth}), w[3]);
    const Tensor n = rms_norm(h, w[4]);
    return nn::linear(h + nn::linear(silu(nn::linear(n, w[5])) * nn::linear(n, w[6]), w[7]), w[0]);
  }

  Numbers numbers{3};
  std::vector<Array> values;
};
ON_EACH_DEVICE(Transformer);

TEST_P(Transformer, GradientsOnTheDeviceAreThoseOfTheBook) {
  Tensors all;
  for (const Array& v : values) all.push_back(upload(v));
  std::vector<i32> ids;
  for (i64 n = 0; n < kTokens; ++n) ids.push_back(i32(numbers.next() % kVocabulary));
  const size_t weights = all.size();
  std::vector<Array> inputs = values;
  inputs.push_back({{kTokens}, {ids.begin(), ids.end()}});
  inputs.push_back(generate({kTokens, kTokens}, [](const Shape& i) { return double(i[1] <= i[0]); }));
  inputs.push_back(eighths({kTokens, kVocabulary}, 5));
  all.push_back(indices(ids));
  all.push_back(nn::causal_mask(runtime(), kTokens, kTokens));
  all.push_back(upload(inputs.back()));
  const Tensors got = grad(logits(all, all[weights], all[weights + 1]), std::span(all).first(weights), all.back());
  const std::vector<Array> want = by_the_book(got, all, inputs);
  realize(got);
  for (size_t n = 0; n < got.size(); ++n)
    expect(fmt::format("weight {}", n), got[n], want[n], {0, 0x1p-7 * largest(want[n])});
}

TEST_P(Transformer, LearnsASequence) {
  Tensors weights;
  nn::Parameters parameters;
  for (const Array& v : values)
    weights.push_back(upload(map(v, [&](double e) { return v.shape.size() == 1 ? 1 : e / 2; })));
  for (Tensor& w : weights) parameters.push_back(&w);
  std::vector<i32> ids, next;
  for (i32 n = 0; n < kTokens; ++n) ids.push_back(n * n % kVocabulary), next.push_back((n + 1) * (n + 1) % kVocabulary);
  const Tensor tokens = indices(ids), targets = indices(next), mask = nn::causal_mask(runtime(), kTokens, kTokens);
  nn::Adam adam({.rate = 0.03f});
  float first = 0, last = 0;
  for (int step = 0; step < 8; ++step) {
    const Tensor loss = nn::cross_entropy(logits(weights, tokens, mask), targets);
    adam.step(parameters, nn::gradients(loss, parameters), {loss});
    last = loss.to_host()[0];
    if (step == 0) first = last;
  }
  EXPECT_GT(first, 2);
  EXPECT_LT(last, 1);
}

}  // namespace
}  // namespace baretile::nn_test
