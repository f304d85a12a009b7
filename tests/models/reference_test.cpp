#include "models/reference.h"

#include <gmock/gmock.h>

#include <cmath>

#include "files/safetensors.h"
#include "models/model_path.h"
#include "models/sampler.h"
#include "models/support.h"

namespace baretile {
namespace {

constexpr float kTolerance = 2e-4f;  // fp32 here against float64 in tools/golden.py; 3e-5 was seen

// The largest distance from `expected`, which has every `every`-th logit.
float distance(std::span<const float> logits, const std::vector<float>& expected, size_t every = 1) {
  if (expected.size() != (logits.size() + every - 1) / every) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const float difference = std::abs(logits[i * every] - expected[i]);
    most = difference <= most ? most : difference;  // a NaN stays
  }
  return most;
}

TEST(ReferenceLlama, AgreesWithNumPyOnATinyModelForAnySplitOfTheTokens) {
  const TempFile file(tiny_llama().bytes());
  ReferenceLlama model{Gguf(file.path())};
  const auto ids = vectors()["tiny_llama"]["ids"].get<std::vector<int>>();
  const auto expected = vectors()["tiny_llama"]["logits"].get<std::vector<std::vector<float>>>();
  for (size_t first = 1; first <= ids.size(); ++first) {
    model.reset();
    EXPECT_LT(distance(model.forward(std::span(ids).first(first)), expected[first - 1]), 1e-5f)
        << "after " << first << " at once";
    for (size_t i = first; i < ids.size(); ++i)
      EXPECT_LT(distance(model.forward(std::span(ids).subspan(i, 1)), expected[i]), 1e-5f)
          << "token " << i << " after " << first;
    EXPECT_EQ(model.position(), static_cast<int>(ids.size()));
  }
}

TEST(ReferenceLlama, RefusesTokensItCannotTake) {
  const TempFile file(tiny_llama().bytes());
  const Gguf gguf(file.path());
  ReferenceLlama model(gguf);
  EXPECT_THAT(message_of<UsageError>([&] { model.forward({}); }), testing::HasSubstr("at least one token"));
  for (int id : {-1, 40})
    EXPECT_THAT(message_of<UsageError>([&] { model.forward({{id}}); }),
                testing::HasSubstr("outside the vocabulary of 40"));
  model.forward(std::vector<int>(60, 1));
  EXPECT_THAT(message_of<UsageError>([&] { model.forward(std::vector<int>(5, 1)); }),
              testing::HasSubstr("5 tokens after 60 do not fit the context of 64"));
  EXPECT_THAT(message_of<UsageError>([&] { ReferenceLlama(gguf, 3); }), testing::HasSubstr("3 layers asked of"));
}

// Feeds the recorded prompt, then the answer token by token; `check(step, logits)` sees what follows each.
template <class Check>
void answer(ReferenceLlama& model, Check check) {
  const auto prompt = vectors()["prompt_ids"].get<std::vector<int>>(),
             ids = vectors()["answer_ids"].get<std::vector<int>>();
  for (size_t step = 0; step < ids.size(); ++step)
    check(step,
          model.forward(step == 0 ? std::span<const int>(prompt) : std::span<const int>(ids).subspan(step - 1, 1)));
}

class SmolLm2 : public testing::TestWithParam<int> {};  // which row of vectors()["logits"]

TEST_P(SmolLm2, AgreesWithNumPyOnRecordedLogits) {
  std::string path;
  const std::string missing = message_of<UsageError>([&] { path = cached_model(); });
  if (path.empty()) GTEST_SKIP() << missing;
  const auto& golden = vectors()["logits"][GetParam()];
  ReferenceLlama model(Gguf(path), golden["layers"]);
  answer(model, [&](size_t step, std::span<const float> logits) {
    EXPECT_LT(distance(logits, golden["logits"][step], golden["every"]), kTolerance) << "step " << step;
    const int best = golden["choices"][step][0], second = golden["choices"][step][1];
    EXPECT_EQ(greedy(logits), best) << "step " << step;
    EXPECT_NEAR(logits[best] - logits[second], golden["choices"][step][2].get<float>(), kTolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(OneLayerAndAll, SmolLm2, testing::Values(0, 1));

TEST(ReferenceLlama, AgreesWithNumPyOnEveryLogitOfTheGoldenFile) {
  std::string path, golden_path;
  std::string missing =
      message_of<UsageError>([&] { path = cached_model(), golden_path = cached_model("golden.safetensors"); });
  if (golden_path.empty()) GTEST_SKIP() << missing << "; golden.safetensors is made by tools/golden.py logits";
  const Safetensors golden(golden_path);
  ReferenceLlama model(Gguf(path), std::stoi(golden.metadata().at("layers")));
  std::vector<float> expected(model.config().vocab);
  answer(model, [&](size_t step, std::span<const float> logits) {
    read_rows(golden.tensor("logits"), step, expected);
    EXPECT_LT(distance(logits, expected), kTolerance) << "step " << step;
  });
}

}  // namespace
}  // namespace baretile
