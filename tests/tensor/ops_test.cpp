// What the rows of ops.def do beyond what accuracy_test.cpp measures: special values, booleans, casts, numbers, and
// equal bits on both simulators.
#include "tensor/rows.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

using compiler::Kind;

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

TEST_P(Ops, BinaryOnesTreatEveryPairOfSpecialValuesAsTheirRowsSay) {
  // A denormal of each sign counts as zero.
  const std::vector<double> special{0.0,    -0.0,    kInf, -kInf, kNan, -kNan, kMax, -kMax,  kMin,        -kMin,
                                    1e-40f, -1e-40f, 1,    -1,    -2,   3,     0.5,  0x1p24, -0x1p24 + 1, 0x1p126};
  const i64 count = i64(special.size());
  const Array rows = generate({count, count}, [&](const Shape& i) { return special[size_t(i[0])]; });
  const Array cols = generate({count, count}, [&](const Shape& i) { return special[size_t(i[1])]; });
  expect_rows(2, rows, cols);
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
