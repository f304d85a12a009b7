// What steps refuse and keep; their arithmetic is training_test.cpp's.
#include <utility>

#include "baretile/nn.h"
#include "tensor/support.h"

namespace baretile::nn_test {
namespace {

using namespace tensor_test;

class Optimisers : public OnDevice {};
ON_EACH_DEVICE(Optimisers);

TEST_P(Optimisers, ClippingScalesLongGradientsTogetherAndLeavesShortOnes) {
  const Array x = eighths({33, 5}, 1), y = eighths({3, 4, 5}, 2);
  double square = 0;
  for (const Array& a : {x, y})
    for (const double v : a.values) square += v * v;
  for (const double largest : {1.0, 100.0}) {
    std::vector<Tensor> gradients{upload(x), upload(y, bf16)};
    const Tensor norm = nn::clip_grad_norm(gradients, float(largest));
    const double scale = std::min(1.0, largest / (std::sqrt(square) + 1e-6));
    expect("norm", norm, {{}, {std::sqrt(square)}}, {8});
    expect("fp32", gradients[0], map(x, [&](double v) { return v * scale; }), {16});
    expect("bf16", gradients[1], map(y, [&](double v) { return v * scale; }), {16});
    EXPECT_EQ(gradients[1].dtype(), bf16);
  }
  std::vector<Tensor> none;
  EXPECT_THROW(nn::clip_grad_norm(none, 1), UsageError);
}

TEST_P(Optimisers, WeightsKeepTheirDtypeAndCopiesOfHandlesTheirValue) {
  for (const DType dtype : {fp32, bf16}) {
    Tensor w = upload({{2}, {1, -2}}, dtype), before = w;
    nn::SGD sgd({.rate = 0.25f, .momentum = 0.5f});
    sgd.step({&w}, {upload({{2}, {1, 2}})});
    sgd.step({&w}, {upload({{2}, {0, 1}})});
    EXPECT_EQ(w.dtype(), dtype);
    EXPECT_EQ(w.to_host(), (std::vector<float>{0.625, -3}));
    EXPECT_EQ(before.to_host(), (std::vector<float>{1, -2}));
  }
}

TEST_P(Optimisers, OneGradientForEachParameterAndTheSameParametersAlways) {
  Tensor w = upload({{2}, {1, -2}}), other = upload({{3}, {1, 2, 3}});
  const Tensor g = upload({{2}, {1, 2}});
  nn::Adam adam({});
  EXPECT_THROW(adam.step({&w}, {}), UsageError);
  EXPECT_THROW(adam.step({&w}, {upload({{1}, {1}})}), UsageError) << "it would be broadcast";
  EXPECT_THROW(adam.step({}, {}), UsageError);
  adam.step({&w}, {g});
  EXPECT_THROW(adam.step({&other}, {upload({{3}, {1, 2, 3}})}), UsageError);
  EXPECT_THROW(adam.step({&w, &w}, {g, g}), UsageError);
}

TEST_P(Optimisers, AStepThatFailedIsNone) {
  const Tensor x = upload({{2}, {1, 2}});
  std::vector<std::vector<float>> weights;
  for (const bool fails : {false, true}) {
    Tensor w = upload({{2}, {1, -2}});
    nn::Adam adam({.rate = 0.1f});
    bool now = fails;
    nn::Trainer train(
        [&](const Tensors& batch) {
          if (std::exchange(now, false)) throw std::runtime_error("no loss");
          return sum(w * w * batch[0]);
        },
        {&w}, adam);
    if (fails) {
      EXPECT_THROW(train({x}), std::runtime_error);
    }
    train({x}), train({x});
    weights.push_back(w.to_host());
  }
  EXPECT_EQ(weights[1], weights[0]);
}

}  // namespace
}  // namespace baretile::nn_test
