// Attention in one kernel against plain arithmetic.
#include "baretile/nn.h"
#include "tensor/derivative.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

using nn::AttentionOptions;

// q [batch, heads, rows, d]; k and v have as many heads or a divisor of that. `see` makes of a score and its place what
// counts.
struct Expected {
  Array out;
  double spread = 0;  // the largest sum over d of |scale q k|
};
template <class See>
Expected attention(const Array& q, const Array& k, const Array& v, double scale, See see) {
  const i64 heads = q.shape[1], group = heads / k.shape[1], rows = q.shape[2], span = k.shape[2], d = q.shape[3],
            width = v.shape[3];
  Expected e{{with(q.shape, -1, width), {}}};
  std::vector<double> weights(static_cast<size_t>(span));
  for (i64 m = 0; m < q.shape[0] * heads; ++m) {
    for (i64 i = 0; i < rows; ++i) {
      const double* x = &q.values[size_t((m * rows + i) * d)];
      double most = -INFINITY, total = 0;
      for (i64 j = 0; j < span; ++j) {
        const double* y = &k.values[size_t((m / group * span + j) * d)];
        double score = 0, magnitude = 0;
        for (i64 n = 0; n < d; ++n) score += scale * x[n] * y[n], magnitude += std::fabs(scale * x[n] * y[n]);
        e.spread = std::max(e.spread, magnitude);
        most = std::max(most, weights[size_t(j)] = see(score, Shape{m / heads, m % heads, i, j}));
      }
      for (double& w : weights) total += w = most == -INFINITY ? 0 : std::exp(w - most);
      for (i64 c = 0; c < width; ++c) {
        double sum = 0;
        for (i64 j = 0; j < span; ++j) sum += weights[size_t(j)] * v.values[size_t((m / group * span + j) * width + c)];
        e.out.values.push_back(total == 0 ? 0 : sum / total);
      }
    }
  }
  return e;
}

// The unpackers cut fp32 to 2^-10, and the matrix unit rounds each product to 2^-11 of the largest of eight: a score is
// off by 2^-9 of the sum of its products' magnitudes at most, a weight by as much of itself, the mix by that and as
// much again of the largest value. Roundings of different signs leave less than a quarter of that here.
Bound bound(const Expected& e, const Array& v) { return {0, 0x1p-11 * (1 + e.spread) * largest(v)}; }

const auto plain = [](double score, const Shape&) { return score; };

class Attention : public OnDevice {
 protected:
  // Of the stored values, in one launch if no more are allowed.
  template <class See>
  void check(const std::string& name, const Array& q, const Array& k, const Array& v, DType dtype,
             const AttentionOptions& options, See see, u64 most_launches = 1) {
    const Array a = stored(q, dtype), b = stored(k, dtype), c = stored(v, dtype);
    const Expected want = attention(a, b, c, options.scale.value_or(1 / std::sqrt(double(q.shape.back()))), see);
    const Tensor got = nn::scaled_dot_product_attention(upload(q, dtype), upload(k, dtype), upload(v, dtype), options);
    EXPECT_EQ(got.dtype(), dtype) << name;
    Tensor out = got;
    EXPECT_LE(launches([&] { out.realize(); }), most_launches) << name;
    expect(name, out, want.out, bound(want, c));
  }
};
ON_EACH_DEVICE(Attention);

struct Size {
  i64 rows, span, d, width, heads, key_heads, batch;
};

TEST_P(Attention, IsOneLaunchOfAnyShapeAndDtype) {
  const Size sizes[] = {{32, 32, 32, 32, 1, 1, 1},   {64, 64, 64, 64, 4, 2, 1},  {31, 33, 16, 16, 1, 1, 2},
                        {33, 65, 128, 128, 4, 2, 1}, {63, 31, 64, 160, 1, 1, 1}, {65, 63, 32, 48, 2, 1, 2},
                        {7, 200, 16, 128, 1, 1, 1},  {1, 65, 64, 64, 4, 2, 2},   {2, 2, 3, 5, 3, 3, 3},
                        {40, 40, 16, 16, 50, 25, 3}};
  u32 n = 0;
  for (const Size& s : sizes) {
    const Array q = random_array({s.batch, s.heads, s.rows, s.d}, 1),
                k = random_array({s.batch, s.key_heads, s.span, s.d}, 2),
                v = random_array({s.batch, s.key_heads, s.span, s.width}, 3);
    const std::string name = fmt::format("{} by {}, {} to {}", s.rows, s.span, s.d, s.width);
    ++n;
    check(name, q, k, v, n % 2 ? bf16 : fp32, {}, plain);
    check(name + ", causal", q, k, v, n % 2 ? fp32 : bf16, {.causal = true},
          [&](double score, const Shape& i) { return i.back() <= i.end()[-2] + s.span - s.rows ? score : -INFINITY; });
  }
}

TEST_P(Attention, OfOneKeyGivesItsValue) {
  for (const i64 rows : {1, 5}) {
    const Array q = random_array({2, 1, rows, 16}, 1), k = random_array({2, 1, 1, 16}, 2),
                v = random_array({2, 1, 1, 40}, 3);
    check("one key", q, k, v, bf16, {.causal = rows == 1}, plain, 3);  // single rows become tiles first
  }
}

TEST_P(Attention, HidesAndAddsWhatAMaskSays) {
  const Array q = random_array({2, 4, 40, 32}, 1), k = random_array({2, 2, 70, 32}, 2),
              v = random_array({2, 2, 70, 32}, 3);
  const auto random_mask = [&](const Shape& shape) {
    return map(random_array(shape, 4), [](double x) { return double(x > -1); });
  };
  for (const Shape& shape : {Shape{40, 70}, Shape{2, 1, 40, 70}, Shape{1, 4, 40, 70}, Shape{2, 1, 1, 70}, Shape{70}}) {
    const std::string name = compiler::to_string(shape);
    const Array seen = random_mask(shape), bias = random_array(shape, 5, -4, 4), rounded = stored(bias, bf16);
    check(name + " seen", q, k, v, bf16, {.mask = upload(seen, DType::boolean)},
          [&](double score, const Shape& i) { return seen.at(i) != 0 ? score : -INFINITY; });
    check(name + " added", q, k, v, fp32, {.mask = upload(bias)},
          [&](double score, const Shape& i) { return score + bias.at(i); });
    check(
        name + " added in bf16", q, k, v, fp32, {.mask = upload(bias, bf16), .causal = true},
        [&](double score, const Shape& i) { return i.back() <= i.end()[-2] + 30 ? score + rounded.at(i) : -INFINITY; });
  }
  const Array one = random_array({2, 4, 1, 32}, 6), bias = random_array({1, 70}, 5, -4, 4), seen = random_mask({70});
  check("one query", one, k, v, fp32, {.mask = upload(bias)},
        [&](double score, const Shape& i) { return score + bias.at(i); });
  check("one query", one, k, v, bf16, {.mask = upload(seen, DType::boolean)},
        [&](double score, const Shape& i) { return seen.at(i) != 0 ? score : -INFINITY; });
}

TEST_P(Attention, TakesScoresThatOverflowWithoutTheirMaximum) {
  // Of integers the products are exact, so that scores up to 32,768 have no error to amplify.
  const auto integers = [](Shape shape, u32 seed, i64 limit) {
    return map(random_array(std::move(shape), seed, float(-limit), float(limit)),
               [](double x) { return std::round(x); });
  };
  const Array q = integers({1, 1, 40, 32}, 1, 32), k = integers({1, 1, 100, 32}, 2, 32),
              v = random_array({1, 1, 100, 32}, 3);
  for (const DType dtype : {bf16, fp32}) {
    const Array values = stored(v, dtype);
    const Expected want = attention(q, k, values, 1, plain);
    expect("scores",
           nn::scaled_dot_product_attention(upload(q, dtype), upload(k, dtype), upload(v, dtype), {.scale = 1}),
           want.out, {0, 0x1p-9 * largest(v)});
    const Array low = map(random_array({40, 100}, 4), [](double x) { return x - 1e30; });
    expect("low masks",
           nn::scaled_dot_product_attention(upload(q, dtype), upload(k, dtype), upload(v, dtype),
                                            {.mask = upload(low), .scale = 1}),
           attention(q, k, values, 1, [](double, const Shape&) { return 0.0; }).out, {0, 0x1p-8 * largest(v)});
  }
}

TEST_P(Attention, GivesZeroToARowThatSeesNothingAndNaNToOneThatHasIt) {
  Array q = random_array({1, 1, 70, 16}, 1);
  const Array k = random_array({1, 1, 40, 16}, 2), v = random_array({1, 1, 40, 16}, 3);
  const auto later = [](double score, const Shape& i) { return i.back() <= i.end()[-2] - 30 ? score : -INFINITY; };
  check("more queries than keys", q, k, v, fp32, {.causal = true}, later);
  const Array seen = generate({70, 40}, [](const Shape& i) { return double(i[0] % 7 != 0 && i[1] > 35); });
  const Array hidden = map(seen, [](double x) { return x != 0 ? 0 : -INFINITY; });
  const auto masked = [&](double score, const Shape& i) { return seen.at(i) != 0 ? score : -INFINITY; };
  check("a boolean mask", q, k, v, fp32, {.mask = upload(seen, DType::boolean)}, masked);
  check("a mask of -inf", q, k, v, fp32, {.mask = upload(hidden)}, masked);
  q.values[16 * 33] = NAN;
  const std::vector<float> got = nn::scaled_dot_product_attention(upload(q), upload(k), upload(v)).to_host();
  for (size_t n = 0; n < got.size(); ++n) EXPECT_EQ(std::isnan(got[n]), n / 16 == 33) << n;
}

TEST_P(Attention, ReadsHeadsWhereTheyLieInOneProjection) {
  const i64 heads = 3, d = 32, rows = 45;
  const Array x = random_array({2, rows, 3 * heads * d}, 1);
  const auto part = [&](i64 n) {
    return generate({2, heads, rows, d}, [&](const Shape& i) {
      return x.at({i[0], i[2], (n * heads + i[1]) * d + i[3]});
    });
  };
  const Tensor all = upload(x).reshape({2, rows, 3, heads, d}).permute({2, 0, 3, 1, 4});
  const auto of = [&](i64 n) { return all.slice(0, n, n + 1).reshape({2, heads, rows, d}); };
  Tensor got = nn::scaled_dot_product_attention(of(0), of(1), of(2), {.causal = true});
  EXPECT_EQ(launches([&] { got.realize(); }), 1u);
  const Expected want = attention(part(0), part(1), part(2), 1 / std::sqrt(32.0), [](double score, const Shape& i) {
    return i.back() <= i.end()[-2] ? score : -INFINITY;
  });
  expect("heads", got, want.out, bound(want, part(2)));
  // What feeds it and what follows are kernels of their own, and no more.
  const Tensor h = upload(random_array({1, 64, 64}, 2), bf16), w = upload(random_array({64, 192}, 3), bf16);
  const Tensor qkv = matmul(h, w).reshape({1, 64, 3, 2, 32}).permute({2, 0, 3, 1, 4});
  const auto piece = [&](i64 n) { return qkv.slice(0, n, n + 1).reshape({1, 2, 64, 32}); };
  Tensor out =
      matmul(nn::scaled_dot_product_attention(piece(0), piece(1), piece(2)).permute({0, 2, 1, 3}).reshape({1, 64, 64}),
             upload(random_array({64, 64}, 4), bf16));
  EXPECT_EQ(launches([&] { out.realize(); }), 3u);
}

TEST_P(Attention, OfFullPrecisionIsTheProductsThemselves) {
  const Array q = random_array({1, 1, 33, 32}, 1), k = random_array({1, 1, 40, 32}, 2),
              v = random_array({1, 1, 40, 32}, 3);
  const DefaultPrecision full(Precision::full);
  Tensor got = nn::scaled_dot_product_attention(upload(q), upload(k), upload(v));
  EXPECT_GT(launches([&] { got.realize(); }), 1u);
  expect("full", got, attention(q, k, v, 1 / std::sqrt(32.0), plain).out, {0, 0x1p-16});
}

TEST(AttentionByTheBook, HasGradientsForEveryInputAndWhereInputsAreOneTensor) {
  const Array q = off_grid({2, 4, 5, 8}, 1), k = off_grid({2, 2, 7, 8}, 2), v = off_grid({2, 2, 7, 4}, 3);
  const Array bias = off_grid({5, 7}, 4),
              seen = generate({5, 7}, [](const Shape&i) { return double(i[0] > 0 && i[1] != 2); });
  check_derivatives("plain", {{q}, {k}, {v}},
                    [](const Tensors& t) { return nn::scaled_dot_product_attention(t[0], t[1], t[2]); });
  check_derivatives("added", {{q}, {k}, {v}, {bias}}, [](const Tensors& t) {
    return nn::scaled_dot_product_attention(t[0], t[1], t[2], {.mask = t[3], .causal = true, .scale = 0.5});
  });
  check_derivatives("seen", {{q}, {k}, {v}, {seen, DType::boolean}}, [](const Tensors& t) {
    return nn::scaled_dot_product_attention(t[0], t[1], t[2], {.mask = t[3], .causal = true});
  });
  check_derivatives("one tensor", {{off_grid({6, 8}, 5)}},
                    [](const Tensors& t) { return nn::scaled_dot_product_attention(t[0], t[0], t[0] * t[0]); });
}

TEST(AttentionByTheBook, RefusesShapesThatDoNotFit) {
  const auto at = [](Shape shape) { return Tensor::placeholder(std::move(shape)); };
  EXPECT_THROW(nn::scaled_dot_product_attention(at({4, 8}), at({4, 9}), at({4, 8})), UsageError);
  EXPECT_THROW(nn::scaled_dot_product_attention(at({4, 8}), at({4, 8}), at({5, 8})), UsageError);
  EXPECT_THROW(nn::scaled_dot_product_attention(at({4, 8}), at({4, 8}), at({4, 8}), at({3, 4})), UsageError);
}

}  // namespace
}  // namespace baretile::tensor_test
