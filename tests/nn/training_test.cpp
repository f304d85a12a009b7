// Small MLPs in training, step by step as PyTorch's rules have it; the tables come from reference.py.
#include "baretile/nn.h"
#include "nn/numbers.h"
#include "tensor/support.h"

namespace baretile::nn_test {
namespace {

constexpr i64 kRows = 33, kIn = 10, kHidden = 40, kOut = 5;

class Training : public tensor_test::OnDevice {
 protected:
  struct Data {
    Tensor x, target, labels;
    nn::MLP model;
  };
  static Data data(DType dtype = tensor_test::fp32) {
    Numbers numbers(1);
    Data d;
    d.x = upload(numbers.eighths({kRows, kIn}));
    d.target = upload(numbers.eighths({kRows, kOut}));
    std::vector<i32> labels;
    for (i64 n = 0; n < kRows; ++n) labels.push_back(i32(numbers.next() % kOut));
    d.labels = indices(labels);
    for (const auto& [in, out] : {std::pair{kIn, kHidden}, std::pair{kHidden, kOut}}) {
      Tensor weight = upload(numbers.eighths({out, in}, 0.25), dtype);
      d.model.layers.push_back({weight, upload(numbers.eighths({out}, 0.25), dtype)});
    }
    return d;
  }

  // Forward and backward products keep 11 bits.
  template <class Optimiser>
  static void expect_losses(bool classify, Optimiser optimiser, const std::vector<float>& want, float clip = 0) {
    Data d = data();
    const nn::Parameters parameters = d.model.parameters();
    for (size_t step = 0; step < want.size(); ++step) {
      const Tensor out = d.model(d.x);
      const Tensor loss = classify ? nn::cross_entropy(out, d.labels) : nn::mse(out, d.target);
      std::vector<Tensor> gradients = nn::gradients(loss, parameters);
      if (clip > 0) nn::clip_grad_norm(gradients, clip);
      const u64 runs = runtime().stats().runs;
      optimiser.step(parameters, gradients, {loss});
      EXPECT_EQ(runtime().stats().runs, runs + 1) << "a step is one Program";
      EXPECT_NEAR(loss.to_host()[0], want[step], 1e-3 * want[step]) << "step " << step;
    }
  }
};
ON_EACH_DEVICE(Training);

TEST_P(Training, WithMomentumAndWeightDecayLosesAsPyTorchDoes) {
  expect_losses(true, nn::SGD({.rate = 0.5, .momentum = 0.9f, .weight_decay = 0.01f}),
                {1.684470, 1.595992, 1.481171, 1.380075, 1.296244, 1.209186, 1.109982, 1.010188});
}

TEST_P(Training, WithAdamLosesAsPyTorchDoes) {
  expect_losses(false, nn::Adam({.rate = 0.02f, .weight_decay = 0.05f}),
                {0.428057, 0.358272, 0.321123, 0.301375, 0.291204, 0.286501, 0.285293, 0.285575});
}

TEST_P(Training, WithAdamWLosesAsPyTorchDoes) {
  expect_losses(true, nn::AdamW({.rate = 0.02f, .weight_decay = 0.5f}),
                {1.684470, 1.554815, 1.448679, 1.356850, 1.275619, 1.201808, 1.130017, 1.059598});
}

TEST_P(Training, WithClippedGradientsLosesAsPyTorchDoes) {
  expect_losses(false, nn::SGD({.rate = 1}),
                {0.428057, 0.354556, 0.320972, 0.303421, 0.288886, 0.276369, 0.265522, 0.255938}, 0.25f);
}

TEST_P(Training, OfBf16WeightsLosesNearly) {
  Data d = data(tensor_test::bf16);
  const nn::Parameters parameters = d.model.parameters();
  nn::AdamW adam({.rate = 0.02f, .weight_decay = 0.5f});
  for (const float want : {1.684470, 1.554815, 1.448679, 1.356850}) {
    const Tensor loss = nn::cross_entropy(d.model(d.x), d.labels);
    adam.step(parameters, nn::gradients(loss, parameters), {loss});
    EXPECT_NEAR(loss.to_host()[0], want, 0.01 * want);
  }
  for (const Tensor* x : parameters) EXPECT_EQ(x->dtype(), tensor_test::bf16);
}

TEST_P(Training, CompilesOnceAndKeepsNoOldStep) {
  Data d = data();
  const nn::Parameters parameters = d.model.parameters();
  nn::Adam adam({.rate = 0.02f});
  std::vector<u64> free, loaded;
  for (int step = 0; step < 4; ++step) {
    adam.options.rate *= 0.5f;
    const Tensor loss = nn::cross_entropy(d.model(d.x), d.labels);
    adam.step(parameters, nn::gradients(loss, parameters), {loss});
    free.push_back(runtime().free_bytes());
    loaded.push_back(runtime().stats().kernels_loaded);
  }
  EXPECT_EQ(free[3], free[1]);
  EXPECT_EQ(loaded[3], loaded[0]) << "the rate is no part of a kernel";
}

TEST_P(Training, ATrainerStepsAsTheOptimiserDoes) {
  std::vector<std::vector<float>> losses(2);
  for (const bool traced : {false, true}) {
    Data d = data();
    const nn::Parameters parameters = d.model.parameters();
    nn::AdamW adam({.rate = 0.02f, .weight_decay = 0.5f});
    int calls = 0;
    const auto loss_of = [&](const std::vector<Tensor>& batch) {
      ++calls;
      return nn::cross_entropy(d.model(batch[0]), batch[1]);
    };
    nn::Trainer train(loss_of, parameters, adam, 0.25f);
    for (int step = 0; step < 4; ++step) {
      const std::vector<Tensor> batch{d.x, d.labels};
      if (traced) {
        losses[1].push_back(train(batch).to_host()[0]);
      } else {
        const Tensor loss = loss_of(batch);
        std::vector<Tensor> gradients = nn::gradients(loss, parameters);
        nn::clip_grad_norm(gradients, 0.25f);
        adam.step(parameters, gradients, {loss});
        losses[0].push_back(loss.to_host()[0]);
      }
      adam.options.rate *= 0.5f;
      *adam.options.weight_decay += 0.1f;
    }
    EXPECT_EQ(calls, traced ? 1 : 4);
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_P(Training, ATrainerTakesBatchesOfAnySize) {
  Data d = data();
  nn::SGD sgd({.rate = 0.5});
  nn::Trainer train([&](const auto& batch) { return nn::mse(d.model(batch[0]), batch[1]); }, d.model.parameters(), sgd);
  float last = 1;
  for (const i64 rows : {kRows, i64(7), kRows, i64(7)}) {
    const float loss = train({d.x.slice(0, 0, rows), d.target.slice(0, 0, rows)}).to_host()[0];
    EXPECT_LT(loss, last);
    if (rows == 7) last = loss;
  }
}

TEST_P(Training, OptionsAreThoseOfPyTorch) {
  EXPECT_EQ(nn::Adam({}).options.weight_decay, 0.0f);
  EXPECT_EQ(nn::AdamW({}).options.weight_decay, 0.01f);
  EXPECT_EQ(nn::AdamW({.weight_decay = 0.0f}).options.weight_decay, 0.0f);
}

}  // namespace
}  // namespace baretile::nn_test
