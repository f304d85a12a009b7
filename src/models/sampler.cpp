#include "models/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "baretile/error.h"

namespace baretile {

int greedy(std::span<const float> logits) {
  if (logits.empty()) throw InternalError("the forward pass gave no logits to choose from");
  const auto nan = std::ranges::find_if(logits, [](float x) { return std::isnan(x); });
  if (nan != logits.end())
    throw InternalError(fmt::format("logit {} of {} is NaN; run with --check to see where the forward pass went wrong",
                                    nan - logits.begin(), logits.size()));
  return static_cast<int>(std::ranges::max_element(logits) - logits.begin());
}

Sampler::Sampler(float temperature, u32 seed) : temperature_(temperature), random_(seed) {
  if (!(temperature >= 0 && temperature <= 100))
    throw UsageError(
        fmt::format("temperature {} is not between 0 and 100; 0 always takes the best token", temperature));
}

int Sampler::pick(std::span<const float> logits) {
  const int best = greedy(logits);
  if (temperature_ == 0) return best;
  std::vector<double> total(logits.size());  // cumulative, not normalised
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == logits[best])
      sum += 1;  // also when both are infinite, whose difference is NaN
    else
      sum += std::exp((static_cast<double>(logits[i]) - logits[best]) / temperature_);
    total[i] = sum;
  }
  const double high = random_() >> 5, low = random_() >> 6;  // 53 bits, as mt19937's authors make doubles
  const double draw = (high * 67108864.0 + low) / 9007199254740992.0 * sum;
  return static_cast<int>(std::min(std::ranges::upper_bound(total, draw), total.end() - 1) - total.begin());
}

}  // namespace baretile
