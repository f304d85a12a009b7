// How exactly sums, composites, casts and products compute; see accuracy_test.cpp.
#include "baretile/nn.h"
#include "tensor/accuracy.h"
#include "tensor/rows.h"

namespace baretile::tensor_test {
namespace {

double plus_of(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger_or_nan(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

using Call = Tensor (*)(const Tensor&);

class AccuracyOf : public OnDevice {
 protected:
  struct Case {
    const char* name;
    Call call;
    double bound;       // ulp of fp32
    const char* scale;  // of what
    // Exact values and what the bound is relative to, of values as they are stored.
    std::function<std::pair<Array, Array>(const Array&)> exact;
  };

  // A row of the page for each case: x in fp32, and rounded to bf16.
  static void measure(Section& section, const std::vector<Case>& cases, const Array& x) {
    const Array short_x = stored(x, bf16);
    std::vector<Tensor> all;
    for (const Case& c : cases)
      for (const DType dtype : {fp32, bf16}) all.push_back(c.call(upload(x, dtype)));
    realize(all);
    for (size_t n = 0; n < cases.size(); ++n) {
      const Case& c = cases[n];
      std::vector<std::string> cells{c.name, shown(c.bound), c.scale};
      for (const DType dtype : {fp32, bf16}) {
        const Array& in = dtype == fp32 ? x : short_x;
        const Tensor& result = all[2 * n + (dtype == bf16)];
        const auto [want, scale] = c.exact(in);
        ASSERT_EQ(result.shape(), want.shape) << c.name;
        EXPECT_EQ(values_in_padding(runtime(), result), 0u) << c.name << " leaves something in its padding";
        const std::vector<double> got = values_of(result);
        Worst worst;
        for (size_t i = 0; i < got.size(); ++i)
          worst.take(ulps(got[i], want.values[i], result.dtype(), scale.values[i]), i);
        const double bound = result.dtype() == bf16 ? 0.5 + c.bound / 65536 : c.bound;
        EXPECT_LE(worst.error, bound) << fmt::format("{} of {}: element {} is {} instead of {}", c.name,
                                                     compiler::to_string(dtype), worst.at, got[worst.at],
                                                     want.values[worst.at]);
        cells.push_back(shown(worst.error));
        if (dtype == fp32)
          cells.push_back(worst.error == 0         ? ""
                          : want.shape == in.shape ? shown_value(in.values[worst.at])
                                                   : fmt::format("row {}", worst.at));
        compared_ += worst.compared;
      }
      section.row(cells);
    }
  }
  static inline u64 compared_ = 0;
};
ON_EACH_DEVICE(AccuracyOf);

// The result itself is what a bound is relative to.
auto of_each(double (*f)(double)) {
  return [f](const Array& x) { return std::pair(map(x, f), map(x, [](double) { return 0.0; })); };
}
auto of_each(double (*f)(double), double (*scale)(double)) {
  return [=](const Array& x) { return std::pair(map(x, f), map(x, scale)); };
}
double size_of(double v) { return std::isfinite(v) ? std::fabs(v) : 0; }

TEST_P(AccuracyOf, Composites) {
  Section section(
      "Composites, element by element",
      "4,096 values uniform in (-12, 12) and 4,096 of all binades, infinities and NaNs among them. Bounds are in "
      "ulp of the larger of the result and what the third column says.");
  section.header({"", "bound", "of", "fp32: worst", "at", "bf16: worst"});
  Array x = random_array({8, 1024}, 1, -12, 12);
  for (size_t n = 4096; n < 8192; ++n) x.values[n] = every_binade().values[(n - 4096) * 32 + n % 32];
  x = map(x, [](double v) { return std::isnan(float(v)) ? kInf : double(float(v)); });  // bf16 knows no NaN
  const auto tiny = [](double v) { return size_of(v) * 0x1p-105; };
  measure(
      section,
      {{"sigmoid", sigmoid, 8, "", of_each([](double v) { return 1 / (1 + std::exp(-v)); })},
       {"softplus", softplus, 8, "",
        of_each([](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); })},
       {"leaky_relu", [](const Tensor& t) { return leaky_relu(t, 0.01); }, 2, "",
        of_each([](double v) { return v > 0 ? v : v * 0.01; })},
       {"silu", silu, 8, "x / 2^105", of_each([](double v) { return v / (1 + std::exp(-v)); }, tiny)},
       {"gelu", gelu, 8, "x", of_each([](double v) { return v * 0.5 * std::erfc(-v * M_SQRT1_2); }, size_of)},
       {"gelu_tanh", gelu_tanh, 8, "x",
        of_each([](double v) { return 0.5 * v * (1 + std::tanh(0.79788456080286536 * (v + 0.044715 * v * v * v))); },
                size_of)}},
      x);
  section.footer(std::exchange(compared_, 0));
  section.check();
}

Array mean_of(const Array& x) {
  return map(fold(x, -1, 0, plus_of), [&](double v) { return v / double(x.shape.back()); });
}
// Of the last axis: f of all its values in an order, and what the bound is relative to.
template <class F>
Array rows(const Array& x, F f) {
  return generate(with(x.shape, -1, 1), [&](const Shape& i) {
    std::vector<double> row;
    for (i64 k = 0; k < x.shape.back(); ++k) row.push_back(x.at(with(i, -1, k)));
    return double(f(row));
  });
}
template <class F>
Array combined(const Array& x, const Array& y, F f) {
  return generate(x.shape, [&](const Shape& i) { return double(f(x.at(i), y.at(i))); });
}
double sum_of(const std::vector<double>& row) {
  double total = 0;
  for (const double v : row) total += v;
  return total;
}

TEST_P(AccuracyOf, Reductions) {
  Section section("Along an axis",
                  "The last axis of [64, 500]. Rows differ in size by 2^10, every third has all its values above zero. "
                  "Bounds are in ulp "
                  "of the larger of the result and what the third column says. prod takes factors between 1/2 and 2.");
  section.header({"", "bound", "of", "fp32: worst", "at", "bf16: worst"});
  Array x = random_array({64, 500}, 1, -2, 2);
  for (size_t n = 0; n < x.values.size(); ++n) {
    const size_t row = n / 500;
    x.values[n] = float(std::ldexp(row % 3 ? x.values[n] : std::fabs(x.values[n]), int(row % 11) - 5));
  }
  const Array nothing = map(rows(x, sum_of), [](double) { return 0.0; });
  const auto sizes = [](const Array& v) { return fold(map(v, size_of), -1, 0, plus_of); };
  const auto average = [sizes](const Array& v) { return map(sizes(v), [](double s) { return s / 500; }); };
  const auto variance = [](const Array& v) {
    return mean_of(
        map(combined(v, mean_of(v), [](double a, double b) { return a - b; }), [](double d) { return d * d; }));
  };
  const auto log_of_sum = [](const Array& v) {
    return rows(v, [](const std::vector<double>& row) {
      const double top = *std::max_element(row.begin(), row.end());
      double total = 0;
      for (const double e : row) total += std::exp(e - top);
      return top + std::log(total);
    });
  };
  const auto top = [](const Array& v) { return fold(v, -1, -kInf, larger_or_nan); };
  measure(section,
          {{"sum", [](const Tensor& t) { return sum(t, -1, true); }, 8, "the sum of magnitudes",
            [=](const Array& v) { return std::pair(fold(v, -1, 0, plus_of), sizes(v)); }},
           {"max", [](const Tensor& t) { return max(t, -1, true); }, 0, "",
            [=](const Array& v) { return std::pair(top(v), nothing); }},
           {"min", [](const Tensor& t) { return min(t, -1, true); }, 0, "",
            [=](const Array& v) { return std::pair(fold(v, -1, kInf, smaller), nothing); }},
           {"mean", [](const Tensor& t) { return mean(t, -1, true); }, 10, "the mean magnitude",
            [=](const Array& v) { return std::pair(mean_of(v), average(v)); }},
           {"var", [](const Tensor& t) { return var(t, -1, true); }, 32, "",
            [=](const Array& v) { return std::pair(variance(v), nothing); }},
           {"logsumexp", [](const Tensor& t) { return logsumexp(t, -1, true); }, 8, "the largest magnitude",
            [=](const Array& v) { return std::pair(log_of_sum(v), fold(map(v, size_of), -1, 0, larger_or_nan)); }},
           {"softmax", [](const Tensor& t) { return softmax(t); }, 32, "1 + max - x times the result",
            [=](const Array& v) {
              const Array want = combined(v, log_of_sum(v), [](double a, double b) { return std::exp(a - b); });
              const Array away = combined(v, top(v), [](double a, double b) { return 1 + b - a; });
              return std::pair(want, combined(want, away, times));
            }},
           {"log_softmax", [](const Tensor& t) { return nn::log_softmax(t); }, 8, "the largest magnitude",
            [=](const Array& v) {
              const Array most = fold(map(v, size_of), -1, 0, larger_or_nan);
              return std::pair(combined(v, log_of_sum(v), [](double a, double b) { return a - b; }),
                               generate(v.shape, [&](const Shape& i) { return most.at(i); }));
            }},
           {"rms_norm", [](const Tensor& t) { return rms_norm(t, Tensor(1)); }, 16, "",
            [=](const Array& v) {
              const Array square = mean_of(map(v, [](double e) { return e * e; }));
              return std::pair(combined(v, square, [](double a, double b) { return a / std::sqrt(b + 1e-5f); }),
                               map(v, [](double) { return 0.0; }));
            }},
           {"layer_norm", [](const Tensor& t) { return nn::layer_norm(t, Tensor(1), Tensor(0)); }, 16, "1",
            [=](const Array& v) {
              const Array centred = combined(v, mean_of(v), [](double a, double b) { return a - b; });
              return std::pair(
                  combined(centred, variance(v), [](double a, double b) { return a / std::sqrt(b + 1e-5f); }),
                  map(v, [](double) { return 1.0; }));
            }}},
          x);
  const Array factors = map(random_array({64, 500}, 2, -1, 1), [](double v) { return double(float(std::exp2(v))); });
  measure(section,
          {{"prod", [](const Tensor& t) { return prod(t, -1, true); }, 32, "",
            [](const Array& v) {
              const Array want = fold(v, -1, 1, times);
              return std::pair(want, want);
            }}},
          factors);
  section.footer(std::exchange(compared_, 0));
  section.check();
}

TEST_P(AccuracyOf, Casts) {
  Section section(
      "Casts",
      "fp32 of every binade; integers of every length, and multiples that lie between two floats. To integers toward "
      "zero "
      "as far as they reach, NaN to 0; to bf16 the nearest, ties away from zero; to fp32 the nearest, ties to even.");
  section.header({"from", "to", "bound", "worst", "at", "nearest, %"});
  std::vector<u32> words = integers();
  for (u32 n = 0; n < 4096; ++n) words.push_back(0x2000001u * (n + 1) ^ n << 4);
  const Shape shape{i64(words.size())};
  const Array &floats = every_binade(), as_unsigned{shape, {words.begin(), words.end()}},
              as_signed = map(as_unsigned, [](double v) { return double(i32(u32(v))); });
  const struct {
    DType from, to;
    const Array& x;
    double low, high;  // of an integer
  } casts[] = {{fp32, bf16, floats, 0, 0},
               {fp32, DType::int32, floats, -0x1p31, 0x1p31 - 1},
               {fp32, DType::uint32, floats, 0, 0x1p32 - 1},
               {DType::int32, fp32, as_signed, 0, 0},
               {DType::uint32, fp32, as_unsigned, 0, 0},
               {DType::int32, bf16, as_signed, 0, 0},
               {DType::uint32, bf16, as_unsigned, 0, 0}};
  u64 compared = 0;
  for (const auto& c : casts) {
    const std::vector<double> got = values_of(upload(c.x, c.from).cast(c.to));
    Worst worst;
    for (size_t n = 0; n < got.size(); ++n) {
      const double v = c.x.values[n];
      const double want = is_float(c.to) ? v : std::isnan(v) ? 0 : std::trunc(std::clamp(v, c.low, c.high));
      worst.take(ulps(got[n], want, c.to), n);
    }
    // An integer is rounded to fp32 on its way to bf16.
    const double bound = !is_float(c.to) ? 0 : is_integer(c.from) && c.to == bf16 ? 0.5 + 0x1p-17 : 0.5;
    EXPECT_LE(worst.error, bound) << compiler::to_string(c.from) << " " << c.x.values[worst.at];
    section.row({compiler::to_string(c.from), compiler::to_string(c.to), shown(bound), shown(worst.error),
                 worst.error == 0 ? "" : fmt::format("{}", c.x.values[worst.at]), worst.percent_nearest()});
    compared += worst.compared;
  }
  section.footer(compared);
  section.check();
}

TEST_P(AccuracyOf, Products) {
  Section section("matmul",
                  "[40, 500] by [500, 70] and [1, 500] by [500, 70], uniform in (-2, 2). Bounds and worst errors are "
                  "relative to K times "
                  "the largest of the row on the left times the largest of the column on the right;\nto a bf16 result "
                  "half an ulp is "
                  "added. The last column is the length of all errors over that of all results.");
  section.header({"left", "right", "precision", "result", "bound", "worst", "all together"});
  const struct {
    DType left, right;
    Precision precision;
    const char* name;
    double bound;
  } modes[] = {{bf16, bf16, Precision::fast, "fast", 0x1p-6},  {bf16, bf16, Precision::standard, "standard", 0x1p-11},
               {fp32, bf16, Precision::fast, "fast", 0x1p-11}, {fp32, bf16, Precision::standard, "standard", 0x1p-11},
               {fp32, fp32, Precision::fast, "fast", 0x1p-6},  {fp32, fp32, Precision::standard, "standard", 0x1p-9},
               {bf16, bf16, Precision::full, "full", 0x1p-21}, {fp32, fp32, Precision::full, "full", 0x1p-21}};
  constexpr i64 kInner = 500, kCols = 70;
  u64 compared = 0;
  for (const auto& mode : modes) {
    double worst = 0, errors = 0, squares = 0;
    DType dtype = fp32;
    for (const i64 count : {1, 40}) {
      const Array x = stored(random_array({count, kInner}, 1), mode.left),
                  y = stored(random_array({kInner, kCols}, 2), mode.right);
      const Tensor result = matmul(upload(x, mode.left), upload(y, mode.right), mode.precision);
      const Array want = product(x, y, {count, kCols}), in_row = fold(map(x, size_of), -1, 0, larger_or_nan),
                  in_column = fold(map(y, size_of), 0, 0, larger_or_nan);
      const std::vector<double> got = values_of(result);
      dtype = result.dtype();
      size_t n = 0;
      generate(want.shape, [&](const Shape& i) {
        const double error = std::fabs(got[n] - want.values[n]), exact = want.values[n++];
        const double half = dtype == bf16 ? std::ldexp(1.0, std::ilogb(exact) - 8) : 0;
        worst = std::max(worst, (error - half) / (kInner * in_row.at({i[0], 0}) * in_column.at({0, i[1]})));
        errors += error * error, squares += exact * exact;
        return 0.0;
      });
      compared += got.size();
    }
    EXPECT_LE(worst, mode.bound) << mode.name << compiler::to_string(mode.left) << compiler::to_string(mode.right);
    section.row({compiler::to_string(mode.left), compiler::to_string(mode.right), mode.name, compiler::to_string(dtype),
                 fmt::format("2^{}", std::ilogb(mode.bound)), fmt::format("{:.2g}", worst),
                 fmt::format("{:.2g}", std::sqrt(errors / squares))});
  }
  section.footer(compared);
  section.check();
}

}  // namespace
}  // namespace baretile::tensor_test
