#include "models/sampler.h"

#include <gmock/gmock.h>

#include <cmath>

#include "models/support.h"

namespace baretile {
namespace {

TEST(Sampler, TakesTheFirstOfTheBestAtTemperatureZero) {
  const std::vector<float> logits{-1, 3, 2.5f, 3, -INFINITY};
  EXPECT_EQ(greedy(logits), 1);
  EXPECT_EQ(Sampler(0, 7).pick(logits), 1);
}

TEST(Sampler, DrawsAsNumPyDoesFromTheSameSeed) {
  for (const auto& vector : vectors()["sampler"]) {
    Sampler sampler(vector["temperature"], vector["seed"]);
    const auto logits = vector["logits"].get<std::vector<float>>();
    std::vector<int> picks;
    for (size_t i = 0; i < vector["picks"].size(); ++i) picks.push_back(sampler.pick(logits));
    EXPECT_EQ(picks, vector["picks"].get<std::vector<int>>()) << "temperature " << vector["temperature"];
  }
}

TEST(Sampler, NeverDrawsWhatHasNoProbability) {
  Sampler sampler(1, 3);
  int seen[4] = {};
  for (int i = 0; i < 1000; ++i) ++seen[sampler.pick(std::vector<float>{-INFINITY, 1, -INFINITY, 1})];
  EXPECT_EQ(seen[0] + seen[2], 0);
  EXPECT_NEAR(seen[1], 500, 80);  // five standard deviations
  EXPECT_EQ(sampler.pick(std::vector<float>{0, INFINITY, 5}), 1);
}

TEST(Sampler, RefusesNanAndImpossibleTemperatures) {
  EXPECT_THAT(message_of<InternalError>([] {
                greedy(std::vector<float>{1, NAN, 2});
              }),
              testing::HasSubstr("logit 1 of 3 is NaN"));
  EXPECT_THROW(greedy({}), InternalError);
  for (float temperature : {-1.0f, NAN, 101.0f})
    EXPECT_THAT(message_of<UsageError>([&] { Sampler(temperature, 1); }), testing::HasSubstr("temperature"));
}

}  // namespace
}  // namespace baretile
