// Trains a small network to tell two rings of points apart, on the device that BARETILE_DEVICE or the machine offers.
// tools/torch_losses.py does the same with PyTorch.
#include <baretile/baretile.h>

#include <cmath>
#include <cstdio>
#include <iostream>

using namespace baretile;

namespace {

struct Points {
  Tensor at, ring;  // [n, 2], int32 [n]
};

Points generate(Runtime& rt, i64 count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> at;
  std::vector<i32> ring;
  for (i64 n = 0; n < count; ++n) {
    ring.push_back(i32(n % 2));
    const float angle = 6.2831853f * uniform(random), radius = float(ring.back()) + 0.5f + 0.3f * uniform(random);
    at.insert(at.end(), {radius * std::cos(angle), radius * std::sin(angle)});
  }
  return {Tensor::from_host(rt, at, {count, 2}), Tensor::from_host(rt, std::span<const i32>(ring), {count})};
}

}  // namespace

int main() try {
  const DefaultPrecision precision(Precision::full);
  Runtime rt;
  std::mt19937 random(7);
  const Points points = generate(rt, 96, random);
  const std::vector<i64> widths{2, 32, 2};
  nn::MLP model = nn::MLP::init(rt, widths, random);
  nn::AdamW optimiser({.rate = 0.1f});
  nn::Trainer train([&](const auto& batch) { return nn::cross_entropy(model(batch[0]), batch[1]); }, model.parameters(),
                    optimiser, 1);
  for (int step = 0; step < 20; ++step)
    std::printf("step %d: loss %.8f\n", step, train({points.at, points.ring}).to_host()[0]);

  const Tensor scores = model(points.at);  // outside is 1
  const Tensor outside = greater(scores.slice(1, 1, 2), scores.slice(1, 0, 1)).reshape({96});
  const Tensor right = sum(equal(outside, points.ring).cast(DType::fp32), 0);
  std::cout << right << " of 96 points are told apart\n";
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
