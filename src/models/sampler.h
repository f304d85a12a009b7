// Chooses the next token from logits: the best one at temperature 0, otherwise a seeded draw.
//   Sampler sampler(0.7f, 42);  const int id = sampler.pick(logits);
#pragma once
#include <random>
#include <span>

#include "baretile/bits.h"

namespace baretile {

// The smallest id among the largest logits. Throws InternalError when there is none or when one is NaN.
int greedy(std::span<const float> logits);

class Sampler {
 public:
  Sampler(float temperature, u32 seed);  // UsageError unless temperature is 0 … 100
  int pick(std::span<const float> logits);

 private:
  float temperature_;
  std::mt19937 random_;  // fixed by the standard, so a seed means the same text everywhere
};

}  // namespace baretile
