// Losses and their gradients against closed forms.
#include "baretile/nn.h"
#include "tensor/support.h"

namespace baretile::nn_test {
namespace {

using namespace tensor_test;

class Losses : public OnDevice {};
ON_EACH_DEVICE(Losses);

TEST_P(Losses, MseIsTheMeanOfSquares) {
  for (const Shape& shape : {Shape{33}, Shape{31, 33}, Shape{2, 3, 5}}) {
    const Array x = eighths(shape, 1), y = eighths(shape, 2);
    double sum = 0;
    for (size_t n = 0; n < x.values.size(); ++n)
      sum += std::pow(x.values[n] - y.values[n], 2) / double(x.values.size());
    const Tensor a = upload(x), loss = nn::mse(a, upload(y)), g = grad(loss, {a})[0];
    realize({loss, g});
    expect("loss", loss, {{}, {sum}}, {0, 0x1p-20 * sum});
    expect("gradient", g,
           generate(shape, [&](const Shape& i) { return 2 * (x.at(i) - y.at(i)) / double(x.values.size()); }), {2});
  }
}

TEST_P(Losses, CrossEntropyIsTheMeanOfNegativeLogProbabilities) {
  const Array x = map(eighths({33, 37}, 1), [](double v) { return 20 * v; });  // e^40 is in reach of none but the right
  std::vector<i32> labels;
  for (i32 n = 0; n < 33; ++n) labels.push_back(n * 7 % 37);
  double sum = 0;
  const Array probability = generate(x.shape, [&](const Shape& i) {
    double total = 0;
    for (i64 c = 0; c < 37; ++c) total += std::exp(x.at({i[0], c}) - x.at(i));
    if (i[1] == labels[size_t(i[0])]) sum += std::log(total) / 33;
    return 1 / total;
  });
  const Tensor a = upload(x), loss = nn::cross_entropy(a, indices(labels)), g = grad(loss, {a})[0];
  realize({loss, g});
  expect("loss", loss, {{}, {sum}}, {0, 0x1p-19 * sum});
  expect("gradient", g,
         generate(x.shape, [&](const Shape& i) { return (probability.at(i) - (i[1] == labels[size_t(i[0])])) / 33; }),
         {0, 0x1p-22});
  EXPECT_THROW(nn::cross_entropy(a, upload(eighths({33}, 1))), UsageError);
  EXPECT_THROW(nn::cross_entropy(a, indices({1, 2})), UsageError);
}

}  // namespace
}  // namespace baretile::nn_test
