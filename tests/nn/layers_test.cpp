// Layers against plain arithmetic, and their gradients against finite differences.
#include "baretile/nn.h"
#include "tensor/derivative.h"
#include "tensor/support.h"

namespace baretile::nn_test {
namespace {

using namespace tensor_test;

void expect_near(const Array& got, const Array& want) {
  ASSERT_EQ(got.shape, want.shape);
  for (size_t n = 0; n < want.values.size(); ++n) EXPECT_NEAR(got.values[n], want.values[n], 1e-6) << "element " << n;
}

// What f makes of the inputs, in double; its gradients are checked on the way.
Array evaluate(const std::vector<Input>& inputs, const Function& f) {
  check_derivatives("gradient", inputs, f);
  Tensors tensors;
  std::vector<Array> values;
  for (const Input& input : inputs) {
    tensors.push_back(Tensor::placeholder(input.value.shape, input.dtype));
    values.push_back(input.value);
  }
  return by_the_book({f(tensors)}, tensors, values)[0];
}

TEST(Layers, LinearMultipliesByTheTransposedWeightsOfAnyLeadingAxes) {
  const Array w = off_grid({7, 33}, 2), b = off_grid({7}, 3);
  for (const Shape& shape : {Shape{33}, Shape{5, 33}, Shape{2, 3, 33}}) {
    const Array x = off_grid(shape, 1);
    const auto product = [&](bool with_bias) {
      return generate(with(shape, -1, 7), [&](const Shape& i) {
        double sum = with_bias ? b.at({i.back()}) : 0;
        for (i64 k = 0; k < 33; ++k) sum += x.at(with(i, -1, k)) * w.at({i.back(), k});
        return sum;
      });
    };
    expect_near(evaluate({{x}, {w}, {b}}, [](const Tensors& t) { return nn::linear(t[0], t[1], t[2]); }),
                product(true));
    expect_near(evaluate({{x}, {w}}, [](const Tensors& t) { return nn::linear(t[0], t[1]); }), product(false));
  }
}

TEST(Layers, EmbeddingPicksRowsInTheShapeOfItsIndex) {
  const Array table = off_grid({9, 5}, 1), index{{2, 3}, {8, 0, 8, 1, 8, 0}};
  expect_near(evaluate({{table}, {index, DType::int32}}, [](const Tensors& t) { return nn::embedding(t[0], t[1]); }),
              generate({2, 3, 5}, [&](const Shape& i) {
                return table.at({i64(index.at({i[0], i[1]})), i[2]});
              }));
}

TEST(Layers, LayerNormHasMeanZeroAndVarianceOneBeforeItsWeights) {
  const Array x = off_grid({2, 3, 33}, 1), w = off_grid({33}, 2), b = off_grid({33}, 3);
  const Array got = evaluate({{x}, {w}, {b}}, [](const Tensors& t) { return nn::layer_norm(t[0], t[1], t[2]); });
  expect_near(got, generate(x.shape, [&](const Shape& i) {
                double mean = 0, square = 0;
                for (i64 k = 0; k < 33; ++k) mean += x.at(with(i, -1, k)) / 33;
                for (i64 k = 0; k < 33; ++k) square += std::pow(x.at(with(i, -1, k)) - mean, 2) / 33;
                return (x.at(i) - mean) / std::sqrt(square + 1e-5f) * w.at({i[2]}) + b.at({i[2]});
              }));
}

// With scores from `see(score, row, column)`.
template <class See>
Array attention(const Array& q, const Array& k, const Array& v, Shape shape, See see) {
  const i64 span = k.shape[k.shape.size() - 2], d = q.shape.back();
  return generate(shape, [&](const Shape& i) {
    double total = 0, sum = 0;
    for (i64 s = 0; s < span; ++s) {
      double score = 0;
      for (i64 n = 0; n < d; ++n) score += q.at(with(i, -1, n)) * k.at(with(with(i, -2, s), -1, n)) / std::sqrt(d);
      const double weight = std::exp(see(score, i[i.size() - 2], s));
      total += weight;
      sum += weight * v.at(with(i, -2, s));
    }
    return sum / total;
  });
}

TEST(Layers, AttentionMixesValuesByTheSoftmaxOfScores) {
  const Array q = off_grid({2, 3, 5, 8}, 1), k = off_grid({2, 1, 7, 8}, 2), v = off_grid({2, 1, 7, 4}, 3);
  const auto plain = [](double score, i64, i64) { return score; };
  expect_near(
      evaluate({{q}, {k}, {v}}, [](const Tensors& t) { return nn::scaled_dot_product_attention(t[0], t[1], t[2]); }),
      attention(q, k, v, {2, 3, 5, 4}, plain));
}

TEST(Layers, AttentionAddsAFloatMaskAndHidesWhatABooleanOneDoesNotShow) {
  const Array q = off_grid({2, 5, 8}, 1), k = off_grid({2, 7, 8}, 2), v = off_grid({2, 7, 4}, 3);
  const Function masked = [](const Tensors& t) { return nn::scaled_dot_product_attention(t[0], t[1], t[2], t[3]); };
  const Array bias = off_grid({5, 7}, 4);
  expect_near(evaluate({{q}, {k}, {v}, {bias}}, masked), attention(q, k, v, {2, 5, 4}, [&](double score, i64 r, i64 s) {
                return score + bias.at({r, s});
              }));
  const Array seen = generate({5, 7}, [](const Shape& i) { return double(i[1] <= i[0] + 2); });
  expect_near(evaluate({{q}, {k}, {v}, {seen, DType::boolean}}, masked),
              attention(q, k, v, {2, 5, 4}, [](double score, i64 r, i64 s) { return s <= r + 2 ? score : -INFINITY; }));
}

class Modules : public OnDevice {};
ON_EACH_DEVICE(Modules);

TEST_P(Modules, ACausalMaskLetsTheLastRowSeeEverything) {
  const auto mask = [](i64 rows, i64 span) { return to_string(nn::causal_mask(runtime(), rows, span)); };
  EXPECT_EQ(mask(3, 3), "[[true, false, false], [true, true, false], [true, true, true]]");
  EXPECT_EQ(mask(2, 4), "[[true, true, true, false], [true, true, true, true]]");
}

TEST_P(Modules, LinearStartsWithinItsBoundAndMLPAppliesItsActivationBetweenLayers) {
  std::mt19937 random(1);
  const nn::Linear layer = nn::Linear::init(runtime(), 16, 40, random);
  float largest = 0;
  for (const float v : layer.weight.to_host()) largest = std::max(largest, std::fabs(v));
  EXPECT_LE(largest, 0.25f);
  EXPECT_GT(largest, 0.24f);
  const std::vector<i64> widths{3, 2, 1};
  nn::MLP mlp = nn::MLP::init(runtime(), widths, random);
  EXPECT_EQ(mlp.parameters().size(), 4u);
  mlp.layers = {{Tensor::of(runtime(), {{1, 0, 0}, {0, 1, 0}}), Tensor::of(runtime(), {0, 1})},
                {Tensor::of(runtime(), {{1, 1}}), Tensor::of(runtime(), {-2})}};
  EXPECT_EQ(to_string(mlp(Tensor::of(runtime(), {{-5, 3, 9}, {4, -3, 9}}))), "[[2], [2]]");
}

TEST_P(Modules, CausalAttentionHasItsGradientsOnTheDevice) {
  Tensors tensors;
  std::vector<Array> values;
  for (u32 n = 0; n < 4; ++n) {
    values.push_back(eighths({2, 33, 16}, n));
    tensors.push_back(upload(values[n]));
  }
  values.push_back(generate({33, 33}, [](const Shape& i) { return double(i[1] <= i[0]); }));
  tensors.push_back(nn::causal_mask(runtime(), 33, 33));
  Tensors all{nn::scaled_dot_product_attention(tensors[0], tensors[1], tensors[2], tensors[4])};
  for (const Tensor& g : grad(all[0], std::span(tensors).first(3), tensors[3])) all.push_back(g);
  const std::vector<Array> want = by_the_book(all, tensors, values);
  realize(all);
  for (size_t n = 0; n < 4; ++n) expect(fmt::format("result {}", n), all[n], want[n], {0, 0x1p-8 * largest(want[n])});
}

}  // namespace
}  // namespace baretile::nn_test
