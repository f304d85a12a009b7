#include "tensor/kernel_run.h"

namespace baretile::kernel_test {
namespace {

class ElementwiseKernel : public KernelTest {};
ON_EACH_SIMULATOR(ElementwiseKernel);

TEST_P(ElementwiseKernel, AddsTilesExactly) {
  Case c("add_tiles", 1, 64, 64);
  const u32 x = c.load(random_matrix(1, 64, 64, fp32, tile, 1)), y = c.load(random_matrix(1, 64, 64, fp32, tile, 2));
  c.output(c.op("add", {x, y}), fp32, tile);
  expect_outputs(c, {.ulp = 0.5});
}

TEST_P(ElementwiseKernel, MixesFormatsOnBothSides) {
  Case c("mixed_formats", 1, 32, 64);
  const u32 x = c.load(random_matrix(1, 32, 64, fp32, tile, 1)), y = c.load(random_matrix(1, 32, 64, bf16, tile, 2));
  const u32 product = c.op("mul", {x, y});
  c.output(product, bf16, tile);
  c.output(product, fp32, tile);
  expect_outputs(c, {.ulp = 0.5});
}

TEST_P(ElementwiseKernel, CastsWithoutTheVectorUnit) {
  Case up("cast_up", 1, 32, 32), down("cast_down", 1, 32, 32);
  up.output(up.load(random_matrix(1, 32, 32, bf16, tile, 1)), fp32, tile);
  expect_outputs(up, {});
  down.output(down.load(random_matrix(1, 32, 32, fp32, tile, 1)), bf16, tile);
  expect_outputs(down, {});
}

TEST_P(ElementwiseKernel, StoresBf16RoundedToNearestTiesAwayFromZero) {
  Case c("bf16_ties", 1, 1, 32);
  Matrix m{1, 1, 32, fp32, row, std::vector<double>(32)};
  for (u32 i = 0; i < 32; ++i) m.values[i] = double(std::bit_cast<float>(0x3F800000u + i * 0x4000u)) * (i % 2 ? -1 : 1);
  c.output(c.load(m), bf16, row);
  std::vector<std::vector<u8>> stored{encode(m), std::vector<u8>(64)};
  launch(c.spec, stored, {128, 64});
  for (u32 i = 0; i < 32; ++i) {
    const u32 bits = std::bit_cast<u32>(float(m.values[i]));
    EXPECT_EQ(stored[1][2 * i] | stored[1][2 * i + 1] << 8, (bits + 0x8000) >> 16) << "value " << i;
  }
}

TEST_P(ElementwiseKernel, WorksOnRows) {
  Case c("rows", 1, 1, 96);
  const u32 x = c.load(random_matrix(1, 1, 96, fp32, row, 1)), y = c.load(random_matrix(1, 1, 96, bf16, row, 2));
  const u32 product = c.op("mul", {x, y});
  c.output(product, fp32, row);
  c.output(product, bf16, row);
  expect_outputs(c, {.ulp = 0.5});
}

TEST_P(ElementwiseKernel, KeepsPaddingZero) {
  Case c("padding", 1, 37, 45);
  c.output(c.op("exp", {c.load(random_matrix(1, 37, 45, fp32, tile, 1))}), fp32, tile);
  expect_outputs(c, {.ulp = 2});
}

TEST_P(ElementwiseKernel, TakesAPartOfALargerMatrixWithoutItsRest) {
  Case c("part", 1, 20, 40);
  Matrix whole = random_matrix(1, 50, 70, fp32, tile, 1);
  const u32 x = c.load(whole);  // rows and columns from 0 on; what follows in the same pages is not zero
  c.spec.compute.steps[x].access.map = {0, {}, {}, {{2, 1}}};
  c.output(c.op("neg", {x}), fp32, tile);
  expect_outputs(c, {});
}

TEST_P(ElementwiseKernel, SpreadsRowsColumnsAndValues) {
  Case c("broadcasts", 1, 70, 40);
  const u32 x = c.load(random_matrix(1, 70, 40, fp32, tile, 1)), r = c.load(random_matrix(1, 1, 40, fp32, row, 2));
  const u32 k = c.load(random_matrix(1, 70, 1, fp32, tile, 3)), v = c.load(random_matrix(1, 1, 1, fp32, row, 4));
  const u32 narrow = c.load(random_matrix(1, 1, 40, bf16, row, 5));
  c.output(c.op("add", {c.op("add", {c.op("mul", {x, k}), c.op("mul", {r, v})}), narrow}), fp32, tile);
  expect_outputs(c, {.relative = 1e-6});
}

TEST_P(ElementwiseKernel, KeepsConstantsAndSpillsWhatDoesNotFit) {
  Case c("spills", 1, 32, 32);
  std::vector<u32> x, terms;
  for (u32 i = 0; i < 3; ++i) x.push_back(c.load(random_matrix(1, 32, 32, fp32, tile, i + 1, 0.5, 2)));
  for (const char* op : {"exp", "log"})
    for (const u32 v : x) terms.push_back(c.op(op, {v}));
  for (u32 i = 0; i < 3; ++i) terms.push_back(c.op("mul", {terms[i], c.op("add", {terms[5 - i], c.constant(0.3f)})}));
  u32 sum = terms[0];
  for (u32 i = 1; i < terms.size(); ++i) sum = c.op("add", {sum, c.op("mul", {terms[i], terms[i * 5 % 6]})});
  c.output(sum, fp32, tile);
  expect_outputs(c, {.relative = 1e-6});
}

TEST_P(ElementwiseKernel, HoldsManyRowsInDst) {
  Case c("many_rows", 1, 1, 64);
  u32 sum = c.load(random_matrix(1, 1, 64, fp32, row, 1));
  for (u32 i = 2; i < 20; ++i)
    sum = c.op(i % 2 ? "mul" : "add", {sum, c.load(random_matrix(1, 1, 64, fp32, row, i, 0.5, 1.5))});
  c.output(sum, fp32, row);
  expect_outputs(c, {.relative = 1e-6});
}

TEST_P(ElementwiseKernel, SplitsRowsForAProduct) {
  Case c("split_row", 1, 1, 100), tiles("split_tiles", 1, 38, 100);
  c.output(c.op("exp", {c.load(random_matrix(1, 1, 100, fp32, row, 1))}), fp32, split);
  expect_outputs(c, {.ulp = 2});
  tiles.output(tiles.op("exp", {tiles.load(random_matrix(1, 38, 100, fp32, tile, 1))}), fp32, split);
  expect_outputs(tiles, {.ulp = 2});
}

// Errors that ops.def states, over the operation's range.
struct Precision {
  const char* op;
  double low, high;  // of |x|; the sign alternates unless low is negative
  bool positive;
  double ulp;
};
TEST_P(ElementwiseKernel, OperationsAreAsPreciseAsTheirTableSays) {
  const float limit = 87.3f;
  for (const Precision& p : {Precision{"exp", 1e-6, limit, false, 2},
                             {"log", 1e-37, 1e38, true, 3},
                             {"reciprocal", 1e-37, 8e37, false, 2},
                             {"sqrt", 1e-37, 1e38, true, 1},
                             {"rsqrt", 1e-37, 1e38, true, 2},
                             {"relu", 1e-37, 1e38, false, 0},
                             {"neg", 1e-37, 1e38, false, 0},
                             {"abs", 1e-37, 1e38, false, 0}}) {
    Case c(std::string("precision_") + p.op, 1, 32, 128);
    Matrix m = random_matrix(1, 32, 128, fp32, tile, 7, 0, 1);
    for (u32 i = 0; i < m.values.size(); ++i) {
      const double x = i % 2 ? p.low * std::pow(p.high / p.low, m.values[i]) : std::min(p.high, 4.0) * m.values[i];
      m.values[i] = float(p.positive || i % 4 < 2 ? std::max(x, p.low) : -x);
    }
    c.output(c.op(p.op, {c.load(m)}), fp32, tile);
    expect_outputs(c, {.ulp = p.ulp});
  }
}

TEST_P(ElementwiseKernel, OperationsTreatSpecialValuesAsTheirTableSays) {
  const float inf = INFINITY, nan = NAN, x[] = {0.0f, -0.0f, inf, -inf, nan, -2.0f, 88.8f, -88.0f, 3e38f};
  const struct {
    const char* op;
    std::vector<float> want;
  } cases[] = {
      {"exp", {1, 1, inf, 0, nan, std::exp(-2.0f), inf, 0, inf}},
      {"log", {-inf, -inf, inf, nan, nan, nan, std::log(88.8f), nan, std::log(3e38f)}},
      {"reciprocal", {inf, -inf, 0, 0, nan, -0.5f, 1 / 88.8f, 1 / -88.0f, 0}},
      {"sqrt", {0, 0, inf, nan, nan, nan, std::sqrt(88.8f), nan, std::sqrt(3e38f)}},
      {"rsqrt", {inf, inf, 0, nan, nan, nan, 1 / std::sqrt(88.8f), nan, 1 / std::sqrt(3e38f)}},
      {"relu", {0, 0, inf, 0, nan, 0, 88.8f, 0, 3e38f}},
  };
  for (const auto& k : cases) {
    Case c(std::string("special_") + k.op, 1, 1, 32);
    Matrix m{1, 1, 32, fp32, row, std::vector<double>(32, 1.0)};
    std::copy(std::begin(x), std::end(x), m.values.begin());
    c.output(c.op(k.op, {c.load(m)}), fp32, row);
    std::vector<std::vector<u8>> stored{encode(m), std::vector<u8>(128)};
    launch(c.spec, stored, {128, 128});
    for (u32 i = 0; i < k.want.size(); ++i) {
      float got;
      std::memcpy(&got, &stored[1][4 * i], 4);
      if (std::isnan(k.want[i])) {
        EXPECT_TRUE(std::isnan(got)) << k.op << " of " << x[i] << " is " << got;
      } else {
        EXPECT_TRUE(got == k.want[i] || std::fabs(got / k.want[i] - 1) < 1e-6)
            << k.op << " of " << x[i] << " is " << got;
      }
    }
  }
}

TEST_P(ElementwiseKernel, BinaryOperationsAreExactToHalfAnUlp) {
  for (const char* op : {"add", "sub", "mul", "maximum", "minimum"}) {
    Case c(std::string("binary_") + op, 1, 32, 32);
    const u32 x = c.load(random_matrix(1, 32, 32, fp32, tile, 1)), y = c.load(random_matrix(1, 32, 32, fp32, tile, 2));
    c.output(c.op(op, {x, y}), fp32, tile);
    expect_outputs(c, {.ulp = 0.5});
  }
}

}  // namespace
}  // namespace baretile::kernel_test
