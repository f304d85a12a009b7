// What steps refuse and keep; their arithmetic is training_test.cpp's.
#include <functional>
#include <memory>
#include <utility>

#include "baretile/nn.h"
#include "support/message.h"
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

// Six steps are three, a file, and three more of another optimiser.
TEST_P(Optimisers, GoOnFromAFileAsIfTheyHadNotStopped) {
  const Array start = eighths({33, 40}, 1), target = eighths({33, 40}, 2);
  const std::string path = testing::TempDir() + "baretile_optimiser_" + GetParam() + ".safetensors";
  const std::vector<std::function<std::unique_ptr<nn::Optimiser>()>> kinds{
      [] { return std::make_unique<nn::SGD>(nn::SGDOptions{.rate = 0.1f, .momentum = 0.9f}); },
      [] { return std::make_unique<nn::Adam>(nn::AdamOptions{.rate = 0.1f}); },
      [] { return std::make_unique<nn::AdamW>(nn::AdamOptions{.rate = 0.1f, .weight_decay = 0.1f}); }};
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    for (const bool traced : {false, true}) {
      const auto steps = [&](nn::Optimiser& optimiser, Tensor& w, Tensor& b, int count) {
        const auto loss = [&](const Tensors& batch) { return sum((w + b - batch[0]) * (w + b - batch[0])); };
        const Tensor x = upload(target);
        if (traced) {
          nn::Trainer train(loss, {&w, &b}, optimiser);
          for (int n = 0; n < count; ++n) train({x});
        } else {
          for (int n = 0; n < count; ++n) optimiser.step({&w, &b}, nn::gradients(loss({x}), {&w, &b}));
        }
      };
      Tensor w = upload(start), b = Tensor::zeros(runtime(), {40});
      const auto whole = kinds[kind]();
      EXPECT_TRUE(whole->state().empty());
      steps(*whole, w, b, 3);
      NamedTensors saved = whole->state();
      saved["w"] = w, saved["b"] = b;
      save_safetensors(path, saved);
      steps(*whole, w, b, 3);

      NamedTensors loaded = load_safetensors(runtime(), path);
      Tensor w2 = loaded.extract("w").mapped(), b2 = loaded.extract("b").mapped();
      const auto rest = kinds[kind]();
      rest->set_state({&w2, &b2}, loaded);
      steps(*rest, w2, b2, 3);
      EXPECT_EQ(w2.to_host(), w.to_host()) << "kind " << kind << ", traced: " << traced;
      EXPECT_EQ(b2.to_host(), b.to_host());
      EXPECT_EQ(rest->state().at("steps").to_host_int32(), std::vector<i32>{6});
      EXPECT_EQ(saved.at("steps").to_host_int32(), std::vector<i32>{3}) << "what was taken stays";
    }
  }
  std::remove(path.c_str());
}

// A trainer knows where its optimiser's state lies.
TEST_P(Optimisers, TakeAStateAlsoWhenATrainerIsThere) {
  const Tensor x = upload({{2}, {1, 2}});
  const auto loss_of = [](const Tensor& w) { return [&w](const Tensors& batch) { return sum(w * w * batch[0]); }; };
  Tensor w = upload({{2}, {1, -2}}), again = w;
  nn::Adam first({.rate = 0.1f}), second({.rate = 0.1f});
  nn::Trainer train(loss_of(w), {&w}, first), train_again(loss_of(again), {&again}, second);
  train({x});
  const NamedTensors state = first.state();
  again = upload({{2}, {w.to_host()[0], w.to_host()[1]}});
  train({x});
  second.set_state({&again}, state);
  train_again({x});
  EXPECT_EQ(again.to_host(), w.to_host());
}

TEST_P(Optimisers, TakeNoStateThatIsNotTheirs) {
  Tensor w = upload({{2}, {1, -2}}), other = upload({{3}, {1, 2, 3}});
  nn::Adam adam({}), from({});
  nn::SGD plain({.rate = 0.25f}), momentum({.rate = 0.25f, .momentum = 0.5f});
  from.step({&other}, {upload({{3}, {1, 2, 3}})});
  EXPECT_THAT(message_of<UsageError>([&] { adam.set_state({&w}, from.state()); }),
              testing::HasSubstr("set_state: '0.0' is [3], and here [2]"));
  momentum.step({&w}, {upload({{2}, {1, 2}})});
  EXPECT_THAT(message_of<UsageError>([&] { adam.set_state({&w}, momentum.state()); }),
              testing::HasSubstr("set_state: '0.1' is missing, and here [2]"));
  EXPECT_THROW(plain.set_state({&w}, momentum.state()), UsageError);
  EXPECT_THROW(momentum.set_state({&w}, from.state()), UsageError);
  EXPECT_EQ(momentum.state().at("0.0").to_host(), (std::vector<float>{1, 2})) << "it keeps its own";
  plain.set_state({&w}, plain.state());

  EXPECT_TRUE(adam.state().empty()) << "what was refused leaves it free for other parameters";
  from.set_state({&other}, from.state());
  NamedTensors before = from.state(), bad = from.state();
  bad["steps"] = upload({{}, {-1}}, DType::int32);
  bad["0.0"] = upload({{3}, {7, 7, 7}});
  EXPECT_THAT(message_of<UsageError>([&] { from.set_state({&other}, bad); }), testing::HasSubstr("-1 steps"));
  EXPECT_EQ(from.state().at("0.0").to_host(), before.at("0.0").to_host());
}

}  // namespace
}  // namespace baretile::nn_test
