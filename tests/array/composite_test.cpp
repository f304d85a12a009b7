// Reductions over several axes and composites of floats against plain index arithmetic in double.
#include <numeric>

#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Composites : public OnDevice {};
ON_EACH_DEVICE(Composites);

constexpr double kNan = NAN, kInf = INFINITY;

double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

Array over(Array x, const std::vector<i64>& axes, bool keepdims, double start, double (*f)(double, double)) {
  const size_t rank = x.shape.size();
  std::vector<bool> gone(rank);
  for (const i64 axis : axes) {
    x = fold(x, axis, start, f);
    gone[size_t(axis < 0 ? axis + i64(rank) : axis)] = !keepdims;
  }
  Shape shape;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (!gone[axis]) shape.push_back(x.shape[axis]);
  }
  return {shape, x.values};
}

TEST_P(Composites, ReductionsOverSeveralAxes) {
  for (const DType dtype : {fp32, bf16}) {
    Cases cases;
    for (const Shape& shape : {Shape{65}, Shape{1, 33}, Shape{31, 33}, Shape{3, 7, 34}, Shape{2, 3, 2, 3, 7}}) {
      const Array x = map(eighths(shape, 1), [](double v) { return v - 3; });
      const Array powers = map(eighths(shape, 2), [](double v) {
        return v < -1.9 ? 2 : v > 1.9 ? -0.5 : v < 0 ? -1 : 1;
      });
      const Tensor input = upload(x, dtype), factors = upload(powers, dtype);
      for (u32 mask = 1; mask<1u << shape.size(); mask += shape.size()> 3 ? 6 : 1) {
        std::vector<i64> axes;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
          if (mask >> axis & 1) axes.push_back(mask % 2 ? i64(axis) : i64(axis) - i64(shape.size()));
        }
        const bool keepdims = mask % 4 < 2;
        // bf16 is rounded between the axes; see ABf16SumIsRoundedOnce.
        const double rounding =
            dtype == bf16 && axes.size() > 1 ? 0x1p-7 * largest(over(x, axes, keepdims, 0, plus)) : 0;
        cases.add("sum", sum(input, axes, keepdims), over(x, axes, keepdims, 0, plus), {0, rounding});
        cases.add("prod", prod(factors, axes, keepdims), over(powers, axes, keepdims, 1, times));
        cases.add("max", max(input, axes, keepdims), over(x, axes, keepdims, -kInf, larger));
        cases.add("min", min(-input, axes, keepdims),
                  over(map(x, [](double v) { return -v; }), axes, keepdims, kInf, smaller));
      }
      const double total = std::accumulate(x.values.begin(), x.values.end(), 0.0);
      cases.add("sum of all", sum(input), {{}, {total}}, {0, dtype == bf16 ? 0x1p-7 * std::fabs(total) : 0});
    }
    cases.add("of no axis", sum(upload(eighths({3, 5}, 1), dtype), std::vector<i64>{}), eighths({3, 5}, 1));
    cases.check();
  }
}

TEST_P(Composites, ABf16SumIsRoundedOnce) {
  const Array x = map(eighths({2, 3, 2, 3, 7}, 1), [](double v) { return v - 3; });
  const double want = std::accumulate(x.values.begin(), x.values.end(), 0.0), got = sum(upload(x, bf16)).to_host()[0];
  EXPECT_TRUE(close(got, want, bf16, {})) << got << " instead of " << want;
}

TEST_P(Composites, ManyResultsOfOneInput) {
  const Array x = eighths({33, 31}, 1);
  const Tensor input = upload(x);
  std::vector<Tensor> results;
  for (const i64 diagonal : {-40, -1, 0, 2, 50}) {
    results.push_back(tril(input, diagonal));
    results.push_back(triu(input, diagonal));
  }
  realize(results);
  expect("the last", results.back(), map(x, [](double) { return 0.0; }));
}

TEST_P(Composites, EdgesStayZeroWhereResultsOfZeroAreMinusZero) {
  Cases cases;
  for (const Shape& shape : {Shape{33}, Shape{31, 33}, Shape{3, 7, 34}}) {
    for (const DType dtype : {fp32, bf16}) {
      const Array x = map(eighths(shape, 1), [](double v) { return v == 0 ? 1 : v; });
      const Tensor input = upload(x, dtype);
      const auto negative = map(x, [](double v) { return -v; });
      cases.add("neg", -input, negative);
      cases.add("times -1", input * -1, negative);
      cases.add("times -2", input * -2, map(x, [](double v) { return -2 * v; }));
      cases.add("over -1", div(input, -1), negative);
      cases.add("-0 - x", Tensor(-0.0) - input, negative);
      cases.add("x times its negative", input * -input, map(x, [](double v) { return -v * v; }),
                {0, dtype == bf16 ? 0.02 : 0});
      cases.add("min with -0", minimum(input, -0.0), map(x, [](double v) { return std::min(v, 0.0); }));
      cases.add("ceil of little below 0", ceil(input * 0.125 - 0.25),
                map(x, [](double v) { return std::ceil(v / 8 - 0.25); }));
      cases.add("trunc", trunc(-input), map(x, [](double v) { return std::trunc(-v); }));
      cases.add("where", where(input < 0, input, -0.0), map(x, [](double v) { return std::min(v, 0.0); }));
      cases.add("-max", -max(input, -1, true), map(fold(x, -1, -kInf, larger), [](double v) { return -v; }));
      cases.add("transposed", (-input).reshape({-1, 1}), Array{{i64(x.values.size()), 1}, negative.values});
    }
  }
  cases.check();
}

TEST_P(Composites, ArgmaxAndArgminTakeTheFirstAndNaNsBeforeAll) {
  Cases cases;
  for (const Shape& shape : {Shape{37}, Shape{33, 31}, Shape{2, 5, 40}}) {
    Array x = map(eighths(shape, 1), [](double v) { return std::floor(v * 2); });  // many ties
    if (shape.size() == 2) {
      x.values[40] = kNan, x.values[50] = kNan, x.values[70] = -kInf, x.values[100] = kInf;
      for (size_t n = 0; n < 31; ++n) x.values[310 + n] = -kInf, x.values[341 + n] = kNan;
    }
    const auto first = [&](i64 axis, auto better) {
      return generate(with(x.shape, axis, 1), [&](const Shape& i) {
        const auto at = [&](i64 k) { return x.at(with(i, axis, k)); };
        i64 best = 0;
        for (i64 k = 0; k < shape[size_t(axis)]; ++k) {
          if (std::isnan(at(best))) break;
          if (std::isnan(at(k)) || better(at(k), at(best))) best = k;
        }
        return double(best);
      });
    };
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      cases.add("argmax", argmax(upload(x), axis, true), first(axis, std::greater<double>()));
      cases.add("argmin", argmin(upload(x), axis, true), first(axis, std::less<double>()));
      Array dropped = first(axis, std::greater<double>());
      dropped.shape.erase(dropped.shape.begin() + axis);
      cases.add("without the axis", argmax(upload(x), axis - i64(shape.size())), dropped);
      EXPECT_EQ(cases.got.back().dtype(), DType::int32);
    }
  }
  cases.check();
}

TEST_P(Composites, VariancesWithAndWithoutCorrection) {
  Cases cases;
  for (const Shape& shape : {Shape{65}, Shape{33, 31}, Shape{3, 5, 34}}) {
    const Array x = random_array(shape, 1);
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      const double n = double(shape[size_t(axis)]);
      const Array mean = map(fold(x, axis, 0, plus), [&](double v) { return v / n; });
      const Array squares = generate(shape, [&](const Shape& i) { return std::pow(x.at(i) - mean.at(i), 2); });
      for (const i64 correction : {0, 1}) {
        const Array want = map(fold(squares, axis, 0, plus), [&](double v) { return v / (n - double(correction)); });
        // The mean's error, 8 ulp of it, doubles in the squares; they and their sum add 12.
        cases.add("var", var(upload(x), axis, true, correction), want, {32, 1e-6});
      }
    }
  }
  cases.check();
}

TEST_P(Composites, LogsumexpOfLargeSmallAndInfiniteRows) {
  Array x = random_array({6, 40}, 1, -3, 3);
  for (size_t n = 0; n < 40; ++n) {
    x.values[40 + n] = float(x.values[n] + 1000);
    x.values[80 + n] = float(x.values[n] - 1000);
    x.values[120 + n] = -kInf;
    if (n % 2) x.values[160 + n] = -kInf;
  }
  x.values[205] = kInf;
  const auto lse = [&](i64 axis) {
    const Array top = fold(x, axis, -kInf, larger);
    return generate(top.shape, [&](const Shape& i) {
      const double m = top.at(i);
      if (std::isinf(m)) return m;
      double total = 0;
      for (i64 k = 0; k < x.shape[size_t(axis)]; ++k) total += std::exp(x.at(with(i, axis, k)) - m);
      return m + std::log(total);
    });
  };
  Cases cases;
  cases.add("rows", logsumexp(upload(x), 1, true), lse(1), {8, 4e-6});
  cases.add("columns", logsumexp(upload(x), 0, true), lse(0), {8, 4e-6});
  cases.add("dropped", logsumexp(upload(x), -1), {{6}, lse(1).values}, {8, 4e-6});
  cases.check();
}

TEST_P(Composites, CumulativeSums) {
  Cases cases;
  for (const Shape& shape : {Shape{1}, Shape{65}, Shape{33, 31}, Shape{2, 3, 5, 7}}) {
    const Array x = eighths(shape, 1);
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      const Array want = generate(shape, [&](const Shape& i) {
        double total = 0;
        for (i64 k = 0; k <= i[size_t(axis)]; ++k) total += x.at(with(i, axis, k));
        return total;
      });
      cases.add("cumsum", cumsum(upload(x), axis), want);
      cases.add("cumsum from the last", cumsum(upload(x), axis - i64(shape.size())), want);
    }
  }
  cases.check();
}

Array order_of(const Array& x, bool descending) {
  Array out = generate(x.shape, [](const Shape& i) { return double(i.back()); });
  const size_t n = size_t(x.shape.back());
  for (size_t row = 0; row < x.values.size(); row += n) {
    const auto begin = out.values.begin() + i64(row);
    std::stable_sort(begin, begin + i64(n), [&](double a, double b) {
      const double p = x.values[row + size_t(a)], q = x.values[row + size_t(b)];
      return descending ? p > q : p < q;
    });
  }
  return out;
}

TEST_P(Composites, SortingIsStableInBothDirections) {
  for (const DType dtype : {fp32, bf16}) {
    Cases cases;
    for (const Shape& shape : {Shape{1}, Shape{65}, Shape{3, 31}, Shape{2, 3, 33}}) {
      Array x = map(eighths(shape, 1), [](double v) { return std::floor(v * 3); });
      if (shape.back() == 31) x.values[3] = kInf, x.values[7] = -kInf, x.values[9] = -kInf;
      const Tensor input = upload(x, dtype);
      cases.add("argsort", argsort(input), order_of(x, false));
      cases.add("descending", argsort(input, true), order_of(x, true));
      const i64 count = std::min<i64>(5, shape.back());
      const Array order = order_of(x, true);
      const TopK top = topk(input, count);
      const Shape few = with(shape, -1, count);
      cases.add("topk's indices", top.indices, generate(few, [&](const Shape& i) { return order.at(i); }));
      cases.add("topk's values", top.values,
                generate(few, [&](const Shape& i) { return x.at(with(i, -1, i64(order.at(i)))); }));
    }
    cases.check();
  }
}

TEST_P(Composites, GatherAndScatterAddAlongTheLastAxis) {
  for (const DType dtype : {fp32, bf16}) {
    Cases cases;
    for (const auto& [shape, count] :
         {std::pair{Shape{35}, i64{3}}, {Shape{5, 33}, 40}, {Shape{2, 3, 7}, 5}, {Shape{3, 1}, 2}}) {
      const Array x = eighths(shape, 1), values = eighths(with(shape, -1, count), 2);
      std::mt19937 random(4);
      const i64 extent = shape.back();
      const Array places = generate(values.shape, [&](const Shape&) { return double(random() % u32(extent + 1)); });
      cases.add("gather", gather(upload(x, dtype), upload(places, DType::int32)),
                generate(places.shape, [&](const Shape& i) {
                  const i64 k = i64(places.at(i));
                  return k < extent ? x.at(with(i, -1, k)) : 0;
                }));
      Array want = x;
      size_t n = 0;
      generate(places.shape, [&](const Shape& i) {
        const i64 k = i64(places.values[n]);
        if (k < extent) want.values[n / size_t(values.shape.back()) * size_t(extent) + size_t(k)] += values.values[n];
        return ++n, i.empty();
      });
      cases.add("scatter_add", scatter_add(upload(x, dtype), upload(places, DType::int32), upload(values, dtype)),
                want);
      for (const Tensor& result : cases.got) EXPECT_EQ(result.dtype(), dtype);
    }
    cases.check();
  }
}

TEST_P(Composites, GatherLeavesInfinitiesAlone) {
  const Array x{{2, 4}, {1, kInf, 3, -kInf, kInf, 5, 6, 7}}, places{{2, 3}, {0, 2, 1, 1, 3, 0}};
  expect("gather", gather(upload(x), upload(places, DType::int32)), {{2, 3}, {1, 3, kInf, 5, 7, kInf}});
}

TEST_P(Composites, TrianglesOfMatrices) {
  for (const Shape& shape : {Shape{33, 31}, Shape{5, 40}, Shape{2, 3, 4, 4}}) {
    Array x = eighths(shape, 1);
    x.values[1] = kInf;
    for (const i64 diagonal : {-40, -1, 0, 2, 50}) {
      Cases cases;
      const auto kept = [&](bool lower) {
        return generate(shape, [&](const Shape& i) {
          const i64 above = i.back() - i[i.size() - 2];
          return (lower ? above <= diagonal : above >= diagonal) ? x.at(i) : 0;
        });
      };
      cases.add("tril", tril(upload(x), diagonal), kept(true));
      cases.add("triu", triu(upload(x), diagonal), kept(false));
      cases.check();
    }
  }
}

TEST_P(Composites, ClampsAndMasks) {
  Array x = eighths({5, 33}, 1);
  x.values[0] = kInf, x.values[1] = -kInf, x.values[2] = kNan;
  const Array mask = map(eighths({33}, 2), [](double v) { return v > 0; });
  Cases cases;
  cases.add("clamp", clamp(upload(x), -0.5, 1.25),
            map(x, [](double v) { return std::isnan(v) ? v : std::clamp(v, -0.5, 1.25); }));
  cases.add("masked_fill", masked_fill(upload(x), upload(mask, DType::boolean), -kInf),
            generate(x.shape, [&](const Shape& i) { return mask.at(i) ? -kInf : x.at(i); }));
  cases.add("by floats", masked_fill(upload(x), upload(mask), 3),
            generate(x.shape, [&](const Shape& i) { return mask.at(i) ? 3 : x.at(i); }));
  cases.check();
}

TEST_P(Composites, Activations) {
  Array x = random_array({7, 65}, 1, -12, 12);
  const double kSpecial[] = {0, 1, -1, 100, -100, 1e-6, -1e-6, 3e4, -3e4};
  std::copy(std::begin(kSpecial), std::end(kSpecial), x.values.begin());
  x = map(x, [](double v) { return double(float(v)); });
  const Tensor input = upload(x);
  Cases cases;
  // exp's 4 ulp, the sum's and the reciprocal's.
  cases.add("sigmoid", sigmoid(input), map(x, [](double v) { return 1 / (1 + std::exp(-v)); }), {8, 0x1p-126});
  cases.add("softplus", softplus(input),
            map(x, [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }), {8});
  cases.add("leaky_relu", leaky_relu(input, 0.25), map(x, [](double v) { return v > 0 ? v : v * 0.25; }));
  // Where 1 + erf or 1 + tanh cancels, the error is that of the two, times x.
  cases.add("gelu", gelu(input), map(x, [](double v) { return v * 0.5 * std::erfc(-v * M_SQRT1_2); }),
            {8, 12 * 8 * 0x1p-24});
  cases.add(
      "gelu_tanh", gelu_tanh(input),
      map(x, [](double v) { return 0.5 * v * (1 + std::tanh(0.79788456080286536 * (v + 0.044715 * v * v * v))); }),
      {8, 12 * 8 * 0x1p-24});
  cases.check();
}

TEST_P(Composites, IntegersBecomeFloatsBeforeDifferencesWrap) {
  const Array x{{1, 5}, {1, 2, 0, 3, 1}};
  double total = 0;
  for (const double v : x.values) total += std::exp(v);
  Cases cases;
  for (const DType dtype : {DType::uint32, DType::int32}) {
    const Tensor input = upload(x, dtype);
    cases.add("sigmoid", sigmoid(input), map(x, [](double v) { return 1 / (1 + std::exp(-v)); }), {8});
    cases.add("silu", silu(input), map(x, [](double v) { return v / (1 + std::exp(-v)); }), {9});
    cases.add("softplus", softplus(input), map(x, [](double v) { return std::log1p(std::exp(v)); }), {8});
    cases.add("softmax", softmax(input), map(x, [&](double v) { return std::exp(v) / total; }), {32});
    cases.add("logsumexp", logsumexp(input, 1), {{1}, {std::log(total)}}, {8, 4e-6});
  }
  cases.check();
}

TEST_P(Composites, ActivationsOfInfinitiesAndNaNs) {
  const Array x{{3}, {kInf, -kInf, kNan}};
  const Tensor input = upload(x);
  Cases cases;
  cases.add("sigmoid", sigmoid(input), {{3}, {1, 0, kNan}});
  cases.add("softplus", softplus(input), {{3}, {kInf, 0, kNan}});
  cases.add("leaky_relu", leaky_relu(input, 0.5), {{3}, {kInf, -kInf, kNan}});
  cases.check();
}

}  // namespace
}  // namespace baretile::tensor_test
