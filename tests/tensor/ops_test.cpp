// Every row of ops.def that does arithmetic, within the row's error of its reference: in double for floats, in 64-bit
// integers for integers.
#include <bit>

#include "compiler/graph/op.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

using compiler::Kind;

struct Row {
  const char* name;
  u32 operands;
  Kind kind;
  double ulp;
  Tensor (*call)(const Tensor&, const Tensor&);
  double (*real)(double, double);
  i64 (*integer)(i64, i64);
};
const Row kRows[] = {
#define UNARY(name, doc, kind, reference, gradient, ulp)   \
  {#name,                                                  \
   1,                                                      \
   Kind::kind,                                             \
   ulp,                                                    \
   [](const Tensor& x, const Tensor&) { return name(x); }, \
   [](double x, double) -> double { return reference; },   \
   [](i64 x, i64) { return i64(reference); }},
#define BINARY(name, doc, kind, reference, gradient_x, gradient_y, ulp) \
  {#name,                                                               \
   2,                                                                   \
   Kind::kind,                                                          \
   ulp,                                                                 \
   [](const Tensor& x, const Tensor& y) { return name(x, y); },         \
   [](double x, double y) -> double { return reference; },              \
   [](i64 x, i64 y) { return i64(reference); }},
#include "baretile/ops.def"
};

bool takes_floats(const Row& row) { return row.kind != Kind::bits && row.kind != Kind::signed_bits; }
bool takes_integers(const Row& row) { return row.kind != Kind::floats && row.kind != Kind::test; }
// Whether the same bits stand for the result of both integers, so that operands may count as signed.
bool signless(const Row& row) { return row.kind == Kind::ring || row.kind == Kind::bits || row.kind == Kind::equality; }

const float kInf = INFINITY, kNan = NAN, kMax = std::numeric_limits<float>::max(),
            kMin = std::numeric_limits<float>::min();

double flushed(double x) { return std::fabs(x) < kMin ? std::copysign(0.0, x) : x; }

// The reference, or what a kernel's comment says where it differs from the C library.
double expected(const Row& row, double x, double y = 0) {
  const std::string name = row.name;
  x = flushed(x), y = flushed(y);
  if (name == "rsqrt" && x == 0) return kInf;
  if (name == "relu" && std::isnan(x)) return x;
  return row.real(x, y);
}

class Ops : public OnDevice {
 protected:
  // All rows of so many operands that take floats, in one program.
  static void expect_rows(u32 operands, const Array& x, const Array& y, DType dtype = fp32) {
    const Tensor a = upload(x, dtype), b = upload(y, dtype);
    std::vector<const Row*> rows;
    std::vector<Tensor> results;
    for (const Row& row : kRows) {
      if (row.operands != operands || !takes_floats(row)) continue;
      rows.push_back(&row);
      results.push_back(row.call(a, b));
    }
    realize(results);
    for (size_t n = 0; n < rows.size(); ++n) {
      const Row& row = *rows[n];
      EXPECT_EQ(results[n].dtype(), compiler::gives_boolean(row.kind) ? DType::boolean : dtype);
      Array want = x;
      for (size_t i = 0; i < x.values.size(); ++i) want.values[i] = expected(row, x.values[i], y.values[i]);
      expect(row.name, results[n], want, {row.ulp});
    }
  }
};
ON_EACH_DEVICE(Ops);

float float_of(u32 bits) { return std::bit_cast<float>(bits); }

const Array& every_bf16() {
  static const Array all = [] {
    Array out{{64, 1024}, {}};
    for (u32 high = 0; high < 65536; ++high) out.values.push_back(float_of(high << 16));
    return out;
  }();
  return all;
}
// 256 mantissas for each exponent and sign: the least, the largest, and others at random.
const Array& every_binade() {
  static const Array all = [] {
    Array out{{128, 1024}, {}};
    std::mt19937 random(1);
    for (u32 top = 0; top < 512; ++top)
      for (u32 n = 0; n < 256; ++n)
        out.values.push_back(float_of(top << 23 | (n == 0 ? 0 : n == 1 ? 0x7FFFFF : random() & 0x7FFFFF)));
    return out;
  }();
  return all;
}

// x with a few of each binade, y at random among them or near x, so that they cancel, or of x's opposite sign.
std::pair<Array, Array> pairs() {
  const std::vector<double>& all = every_binade().values;
  std::mt19937 random(2);
  Array x{{8, 1024}, {}}, y = x;
  for (size_t n = 0; n < 8 * 1024; ++n) {
    const double a = all[n * 16 + random() % 16], b = all[random() % all.size()];
    const double near = float(-a * (1 + 1e-5)), around = float(std::ldexp(double(random()), -31));
    const u32 style = random() % 8;
    x.values.push_back(a);
    y.values.push_back(style == 0 ? near : style == 1 ? -a : style == 2 ? a : style < 5 ? around : b);
  }
  return {x, y};
}

TEST_P(Ops, UnaryOnesArePreciseOverEveryBf16Value) { expect_rows(1, every_bf16(), every_bf16()); }
TEST_P(Ops, UnaryOnesArePreciseOverEveryBinade) { expect_rows(1, every_binade(), every_binade()); }
TEST_P(Ops, BinaryOnesArePreciseOverPairsOfAllBinades) {
  const auto [x, y] = pairs();
  expect_rows(2, x, y);
}

// Bases of all magnitudes and bases near 1 with exponents up to the ends of the range; integer powers of either sign.
TEST_P(Ops, PowersArePreciseUpToTheEndsOfTheRange) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Array x{{3, 4096}, {}}, y = x;
  for (int n = 0; n < 3 * 4096; ++n) {
    const float base = n < 4096   ? std::exp2(126 * uniform(random))
                       : n < 8192 ? 1 + 0.4f * uniform(random)
                                  : 30 * uniform(random);
    x.values.push_back(base);
    y.values.push_back(n < 8192 ? float(128 * uniform(random) / std::log2(base)) : float(int(random() % 41) - 20));
  }
  const Array want = generate(x.shape, [&](const Shape& i) { return std::pow(x.at(i), y.at(i)); });
  for (const Row& row : kRows)
    if (row.name == std::string("pow")) expect("pow", row.call(upload(x), upload(y)), want, {row.ulp});
}

TEST_P(Ops, BinaryOnesTreatEveryPairOfSpecialValuesAsTheirRowsSay) {
  // A denormal of each sign counts as zero.
  const std::vector<double> special{0.0,    -0.0,    kInf, -kInf, kNan, -kNan, kMax, -kMax,  kMin,        -kMin,
                                    1e-40f, -1e-40f, 1,    -1,    -2,   3,     0.5,  0x1p24, -0x1p24 + 1, 0x1p126};
  const i64 count = i64(special.size());
  const Array rows = generate({count, count}, [&](const Shape& i) { return special[size_t(i[0])]; });
  const Array cols = generate({count, count}, [&](const Shape& i) { return special[size_t(i[1])]; });
  expect_rows(2, rows, cols);
}

// Ends of the ranges and of the factors that a product is made of, shift counts, and others of every length.
std::vector<u32> integers() {
  std::vector<u32> out{0,          1,          2,          3,          31,         32,        33,       64,
                       0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFE0, 0xFFFFFFE1, 0x7FFFFF,   0x800000,  0x800001, 0xFFFFFF,
                       0x80000000, 0x80000001, 0x7FFFFFFF, 0x7FFFFFFE, 0xC0000000, 0x40000000};
  std::mt19937 random(4);
  while (out.size() < 64) out.push_back(u32(random()) >> random() % 32);
  return out;
}

TEST_P(Ops, IntegersAreExactModulo2To32) {
  const std::vector<u32> values = integers();
  std::vector<u32> x, y;
  for (const u32 a : values)
    for (const u32 b : values) x.push_back(a), y.push_back(b);
  const Shape shape{64, 64};
  const std::vector<i32> signed_x(x.begin(), x.end()), signed_y(y.begin(), y.end());
  for (const DType dtype : {DType::int32, DType::uint32}) {
    const bool is_signed = dtype == DType::int32;
    Tensor a = is_signed ? Tensor::from_host(runtime(), signed_x, shape) : Tensor::from_host(runtime(), x, shape);
    Tensor b = is_signed ? Tensor::from_host(runtime(), signed_y, shape) : Tensor::from_host(runtime(), y, shape);
    std::map<const Row*, Tensor> results;
    std::vector<Tensor> all;
    for (const Row& row : kRows)
      if (takes_integers(row)) all.push_back(results[&row] = row.call(a, b));
    realize(all);
    for (auto& [row_of, result] : results) {
      const Row& row = *row_of;
      const bool truth = compiler::gives_boolean(row.kind);
      ASSERT_EQ(result.dtype(), truth ? DType::boolean : dtype) << row.name;
      std::vector<u32> got;
      if (truth) {
        for (const float v : result.to_host()) got.push_back(u32(v));
      } else if (is_signed) {
        for (const i32 v : result.to_host_int32()) got.push_back(u32(v));
      } else {
        got = result.to_host_uint32();
      }
      const auto value = [&](u32 word) { return is_signed || signless(row) ? i64(i32(word)) : i64(word); };
      u32 wrong = 0;
      for (size_t n = 0; n < got.size(); ++n) {
        const u32 want = u32(row.integer(value(x[n]), value(y[n])));
        if (got[n] != want && ++wrong <= 3)
          ADD_FAILURE() << fmt::format("{} of {:#x}, {:#x} is {:#x} instead of {:#x}", row.name, x[n], y[n], got[n],
                                       want);
      }
      EXPECT_EQ(wrong, 0u) << row.name << (is_signed ? " of int32" : " of uint32");
    }
  }
}

TEST_P(Ops, BooleansAreLogicalValues) {
  const bool left[] = {false, false, true, true}, right[] = {false, true, false, true};
  Tensor x = Tensor::from_host(runtime(), left, {4}), y = Tensor::from_host(runtime(), right, {4});
  for (const Row& row : kRows) {
    if (!compiler::gives_boolean(row.kind) || row.kind == Kind::test) continue;
    const std::vector<float> got = row.call(x, y).to_host();
    for (size_t n = 0; n < 4; ++n) EXPECT_EQ(got[n], row.real(left[n], right[n])) << row.name << " " << n;
  }
  EXPECT_EQ((x + y).to_host_int32(), (std::vector<i32>{0, 1, 1, 2}));
}

TEST_P(Ops, FloatsBecomeIntegersTowardZeroAsFarAsTheyReach) {
  std::vector<double> values{
      0.0, -0.0, kNan,         -kNan,        kInf,   -kInf,   1e-40f,        0.99999994f,  -0.99999994f, 1,    -1,
      1.5, -1.5, 0x1p24 - 0.0, 0x1p31 - 128, 0x1p31, -0x1p31, -0x1p31 - 256, 0x1p32 - 256, 0x1p32,       -3e9, 1e20};
  std::mt19937 random(5);
  while (values.size() < 1024) values.push_back(float_of(u32((random() & 0x807FFFFF) | (120 + random() % 40) << 23)));
  const Array x{{1024}, values};
  const std::vector<i32> got = upload(x).cast(DType::int32).to_host_int32();
  const std::vector<u32> unsigned_got = upload(x).cast(DType::uint32).to_host_uint32();
  const auto clamped = [](double v, double low, double high) {
    return std::isnan(v) ? 0 : i64(std::trunc(std::clamp(v, low, high)));
  };
  for (size_t n = 0; n < values.size(); ++n) {
    EXPECT_EQ(got[n], clamped(values[n], -0x1p31, 0x1p31 - 1)) << values[n];
    EXPECT_EQ(unsigned_got[n], clamped(values[n], 0, 0x1p32 - 1)) << values[n];
  }
}

TEST_P(Ops, IntegersBecomeTheNearestFloats) {
  std::vector<u32> words = integers();
  for (u32 n = 0; n < 4096; ++n) words.push_back(0x2000001u * (n + 1) ^ n << 4);  // ties among them
  const std::vector<i32> numbers(words.begin(), words.end());
  const Shape shape{i64(words.size())};
  const std::vector<float> of_signed = Tensor::from_host(runtime(), numbers, shape).cast(fp32).to_host();
  const std::vector<float> of_unsigned = Tensor::from_host(runtime(), words, shape).cast(fp32).to_host();
  for (size_t n = 0; n < words.size(); ++n) {
    EXPECT_EQ(of_signed[n], float(numbers[n])) << numbers[n];
    EXPECT_EQ(of_unsigned[n], float(words[n])) << words[n];
  }
}

TEST_P(Ops, WhereTakesWordsAsTheyAre) {
  const bool which[] = {true, false, true, false};
  Tensor condition = Tensor::from_host(runtime(), which, {4});
  const std::vector<i32> x{1, 2, INT32_MIN, 4}, y{-1, 0x7F800001, 7, 1};
  Tensor a = Tensor::from_host(runtime(), x, {4}), b = Tensor::from_host(runtime(), y, {4});
  EXPECT_EQ(where(condition, a, b).to_host_int32(), (std::vector<i32>{1, 0x7F800001, INT32_MIN, 1}));
  EXPECT_EQ(where(condition, upload({{4}, {1, 2, 3, kInf}}), -1).to_host(), (std::vector<float>{1, -1, 3, -1}));
}

TEST_P(Ops, Bf16IsComputedInFp32AndRoundedOnce) {
  const Array x = stored(random_array({33, 40}, 1, 0.25f, 4), bf16), y = stored(random_array({33, 40}, 2), bf16);
  expect_rows(2, x, y, bf16);
  Tensor a = upload(x, bf16), b = upload(y, bf16);
  expect("x y + x", a * b + a, generate(x.shape, [&](const Shape& i) { return x.at(i) * y.at(i) + x.at(i); }),
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

// The rows of so many operands, bit for bit and NaNs included.
void expect_same_bits(u32 operands) {
  setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1);
  Array x{{8, 1024}, {}};
  for (size_t n = 0; n < 8 * 1024; ++n) x.values.push_back(every_binade().values[n * 16 + n % 16]);
  Array y = x;
  std::shuffle(y.values.begin(), y.values.end(), std::mt19937(6));
  std::map<std::string, std::vector<float>> results[2];
  const char* const devices[] = {"sim", "ttsim"};
  for (size_t d = 0; d < 2; ++d) {
    Runtime runtime(devices[d]);
    const Tensor a = Tensor::from_host(runtime, x.floats(), x.shape),
                 b = Tensor::from_host(runtime, y.floats(), y.shape);
    std::map<std::string, Tensor> of;
    std::vector<Tensor> all;
    for (const Row& row : kRows)
      if (row.operands == operands && takes_floats(row)) all.push_back(of[row.name] = row.call(a, b));
    realize(all);
    for (const auto& [name, tensor] : of) results[d][name] = tensor.to_host();
  }
  for (const auto& [name, values] : results[0])
    EXPECT_EQ(std::memcmp(values.data(), results[1][name].data(), values.size() * 4), 0) << name;
}
TEST(OpsOnBothSimulators, UnaryOnesGiveTheSameBits) {
  SKIP_WITHOUT_SIMULATOR("ttsim");
  expect_same_bits(1);
}
TEST(OpsOnBothSimulators, BinaryOnesGiveTheSameBits) {
  SKIP_WITHOUT_SIMULATOR("ttsim");
  expect_same_bits(2);
}

}  // namespace
}  // namespace baretile::tensor_test
