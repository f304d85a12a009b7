// Every row of ops.def that does arithmetic, within the row's error of its reference in double.
#include <bit>

#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Ops : public OnDevice {};
ON_EACH_DEVICE(Ops);

struct Unary {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*reference)(double);
  double ulp;
};
constexpr Unary kUnary[] = {
#define UNARY(name, doc, reference, ulp) {#name, name, [](double x) -> double { return reference; }, ulp},
#include "baretile/ops.def"
};
struct Binary {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
  double ulp;
};
constexpr Binary kBinary[] = {
#define BINARY(name, doc, reference, ulp) {#name, name, [](double x, double y) -> double { return reference; }, ulp},
#include "baretile/ops.def"
};

const float kInf = INFINITY, kNan = NAN, kMax = std::numeric_limits<float>::max(),
            kMin = std::numeric_limits<float>::min();

double flushed(double x) { return std::fabs(x) < kMin ? std::copysign(0.0, x) : x; }

// From the smallest to the largest magnitudes, both signs, and where each function changes its course.
Array ranges() {
  std::vector<double> values;
  std::mt19937 random(1);
  const auto spread = [&](double low, double high, bool logarithmic) {
    for (int n = 0; n < 96; ++n) {
      const double t = double(random() % 65536) / 65536;
      values.push_back(float(logarithmic ? low * std::pow(high / low, t) : low + (high - low) * t));
    }
  };
  spread(-4, 4, false);
  spread(-88.5, 88.5, false);
  spread(0.99, 1.01, false);
  spread(1.2e-38, 1e-20, true);
  spread(1e-6, 1e6, true);
  spread(1e20, 3.4e38, true);
  spread(-1e-30, -1e30, true);
  return {{3, 224}, values};
}

TEST_P(Ops, UnaryOnesAreAsPreciseAsTheirRowsSay) {
  const Array x = ranges();
  Tensor input = upload(x);
  std::vector<Tensor> outputs;
  for (const Unary& u : kUnary) outputs.push_back(u.op(input));
  realize(outputs);
  for (size_t n = 0; n < std::size(kUnary); ++n)
    expect(kUnary[n].name, outputs[n], map(x, kUnary[n].reference), {kUnary[n].ulp});
}

TEST_P(Ops, BinaryOnesAreAsPreciseAsTheirRowsSay) {
  Array x = ranges(), y = x;
  std::shuffle(y.values.begin(), y.values.end(), std::mt19937(2));
  for (size_t n = 0; n < y.values.size(); n += 5) y.values[n] = -x.values[n] * (1 + 1e-5);  // cancellation
  for (double& v : y.values) v = float(v);
  Tensor a = upload(x), b = upload(y);
  std::vector<Tensor> outputs;
  for (const Binary& op : kBinary) outputs.push_back(op.op(a, b));
  realize(outputs);
  for (size_t n = 0; n < std::size(kBinary); ++n) {
    const auto want = generate(x.shape, [&](const Shape& i) { return kBinary[n].reference(x.at(i), y.at(i)); });
    expect(kBinary[n].name, outputs[n], want, {kBinary[n].ulp});
  }
}

// Special values, and a denormal of each sign, which counts as zero.
const std::vector<double> kSpecial{0.0, -0.0, kInf, -kInf, kNan, kMax, -kMax, kMin, -kMin, 1e-40f, -1e-40f, 1, -2};

// kernels/sfpu/ops.def says what differs from the C library's function.
double special_unary(const std::string& name, double (*reference)(double), double x) {
  if (name == "rsqrt" && x == 0) return kInf;  // -0 too
  if (name == "relu" && std::isnan(x)) return kNan;
  return reference(x);
}
// maximum and minimum: -0 below +0, and a NaN above everything.
double special_binary(const std::string& name, double (*reference)(double, double), double x, double y) {
  const auto above = [](double a, double b) { return std::isnan(a) || (!std::isnan(b) && a > b); };
  if (name == "maximum") return above(x, y) ? x : y;
  if (name == "minimum") return above(x, y) ? y : x;
  return reference(x, y);
}

TEST_P(Ops, UnaryOnesTreatSpecialValuesAsTheirTableSays) {
  const Array x{{i64(kSpecial.size())}, kSpecial};
  Tensor input = upload(x);
  std::vector<Tensor> outputs;
  for (const Unary& u : kUnary) outputs.push_back(u.op(input));
  realize(outputs);
  for (size_t n = 0; n < std::size(kUnary); ++n) {
    const Unary& u = kUnary[n];
    expect(u.name, outputs[n], map(x, [&](double v) { return special_unary(u.name, u.reference, flushed(v)); }),
           {u.ulp});
  }
}

TEST_P(Ops, BinaryOnesTreatEveryPairOfSpecialValuesAsTheirTableSays) {
  const i64 count = i64(kSpecial.size());
  const Array x{{count, 1}, kSpecial}, y{{1, count}, kSpecial};
  // By hand and not by broadcasting, which masks the rest of a page.
  const Array rows = generate({count, count}, [&](const Shape& i) { return x.at(i); });
  const Array cols = generate({count, count}, [&](const Shape& i) { return y.at(i); });
  Tensor a = upload(rows), b = upload(cols);
  std::vector<Tensor> outputs;
  for (const Binary& op : kBinary) outputs.push_back(op.op(a, b));
  realize(outputs);
  for (size_t n = 0; n < std::size(kBinary); ++n) {
    const Binary& op = kBinary[n];
    const auto want = generate({count, count}, [&](const Shape& i) {
      return special_binary(op.name, op.reference, flushed(x.at(i)), flushed(y.at(i)));
    });
    expect(op.name, outputs[n], want, {op.ulp});
  }
}

TEST_P(Ops, Bf16IsComputedInFp32AndRoundedOnce) {
  const Array x = stored(random_array({33, 40}, 1, 0.25f, 4), bf16), y = stored(random_array({33, 40}, 2), bf16);
  Tensor a = upload(x, bf16), b = upload(y, bf16);
  std::vector<Tensor> outputs;
  for (const Unary& u : kUnary) outputs.push_back(u.op(a));
  for (const Binary& op : kBinary) outputs.push_back(op.op(a, b));
  outputs.push_back(a * b + a);
  realize(outputs);
  size_t at = 0;
  for (const Unary& u : kUnary) {
    EXPECT_EQ(outputs[at].dtype(), bf16);
    expect(u.name, outputs[at++], map(x, u.reference), {u.ulp});
  }
  for (const Binary& op : kBinary) {
    expect(op.name, outputs[at++], generate(x.shape, [&](const Shape& i) { return op.reference(x.at(i), y.at(i)); }),
           {op.ulp});
  }
  expect("x y + x", outputs[at], generate(x.shape, [&](const Shape& i) { return x.at(i) * y.at(i) + x.at(i); }),
         {2, 4 * 0x1p-24});
}

TEST_P(Ops, Bf16KeepsInfinitiesRoundsTiesAwayAndTurnsNaNsIntoInfinities) {
  // Bits: x and what becomes of x * 1. The unpackers and the packer know no NaN and no denormal; ties go away from
  // zero.
  const std::vector<u16> bits{0x0000, 0x8000, 0x7F80, 0xFF80, 0x7F7F, 0xFF7F, 0x0080, 0x8080, 0x3F81};
  for (const float factor : {1.0f, 1.5f}) {
    const std::vector<float> got = (Tensor::from_host_bf16(runtime(), bits, {i64(bits.size())}) * factor).to_host();
    for (size_t n = 0; n < bits.size(); ++n) {
      const float x = std::bit_cast<float>(u32(bits[n]) << 16) * factor;
      EXPECT_EQ(got[n], std::bit_cast<float>((std::bit_cast<u32>(x) + 0x8000) & 0xFFFF0000)) << bits[n];
    }
  }
  const std::vector<u16> strange{0x7FC0, 0xFFC0, 0x7F81, 0x0001, 0x807F};
  const std::vector<float> got = (Tensor::from_host_bf16(runtime(), strange, {5}) * 1).to_host();
  EXPECT_THAT(got, testing::ElementsAre(INFINITY, -INFINITY, INFINITY, 0, 0));
}

TEST_P(Ops, AnFp32OperandMakesAnFp32Result) {
  const Array x = eighths({5, 33}, 1), y = eighths({5, 33}, 2);
  Tensor sum = upload(x, bf16) + upload(y), product = upload(x) * upload(y, bf16);
  EXPECT_EQ(sum.dtype(), fp32);
  EXPECT_EQ(product.dtype(), fp32);
  expect("sum", sum, generate(x.shape, [&](const Shape& i) { return x.at(i) + y.at(i); }));
  expect("product", product, generate(x.shape, [&](const Shape& i) { return x.at(i) * y.at(i); }));
}

TEST_P(Ops, NumbersStandOnEitherSide) {
  const Array x = eighths({3, 33}, 1);
  Tensor a = upload(x);
  std::vector<Tensor> outputs{a + 1, 1 - a, a - 1, 2 * a, maximum(a, 0.5f), minimum(0.5f, a), -a};
  realize(outputs);
  double (*const wants[])(double) = {[](double v) { return v + 1; },
                                     [](double v) { return 1 - v; },
                                     [](double v) { return v - 1; },
                                     [](double v) { return 2 * v; },
                                     [](double v) { return std::max(v, 0.5); },
                                     [](double v) { return std::min(v, 0.5); },
                                     [](double v) { return -v; }};
  for (size_t n = 0; n < outputs.size(); ++n) expect(fmt::format("case {}", n), outputs[n], map(x, wants[n]));
}

}  // namespace
}  // namespace baretile::tensor_test
