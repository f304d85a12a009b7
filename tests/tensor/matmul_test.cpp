#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

// Bounds relative to the largest element of the result, for products of about 100 terms of one size. The matrix unit
// rounds each product to 2^-11 of the largest of eight (facts measured on ttsim v1.10) and keeps, in all phases, 8 x 8
// significant bits of bf16 and 11 x 10 of tf32; in two phases 10 of the right operand but 7 of the left; a left operand
// split in two has 14.
constexpr double kFourPhases = 4e-4, kTwoPhases = 8e-3, kTf32 = 2e-3, kSplit = 6e-4;

class Matmul : public OnDevice {
 protected:
  struct Case {
    Shape left, right, out;
    DType left_type = fp32, right_type = fp32;
    Precision precision = Precision::standard;
    bool transposed = false;  // `right` is what is uploaded, [n, k]
  };
  // Multiples of 1/8 are exact in every format: any wrong element shows.
  void check_exactly(const std::vector<Case>& cases) {
    std::vector<Tensor> outputs;
    std::vector<Array> wants;
    u32 seed = 10;
    for (const Case& c : cases) {
      const Array x = eighths(c.left, ++seed);
      Array y = eighths(c.right, ++seed);
      Tensor w = upload(y, c.right_type);
      if (c.transposed) {
        Shape turned = y.shape;
        std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
        const Array before = y;
        y = generate(turned, [&](Shape i) {
          std::swap(i[i.size() - 1], i[i.size() - 2]);
          return before.at(i);
        });
        w = w.transpose();
      }
      outputs.push_back(matmul(upload(x, c.left_type), w, c.precision));
      wants.push_back(product(x, y, c.out));
    }
    realize(outputs);
    for (size_t n = 0; n < cases.size(); ++n) {
      EXPECT_EQ(outputs[n].dtype(), cases[n].left_type == bf16 && cases[n].right_type == bf16 ? bf16 : fp32);
      expect(fmt::format("case {}", n), outputs[n], wants[n]);
    }
  }
};
ON_EACH_DEVICE(Matmul);

TEST_P(Matmul, FormatsMayBeMixed) {
  std::vector<Case> cases;
  for (const i64 rows : {1, 33})
    for (const DType left : {fp32, bf16})
      for (const DType right : {fp32, bf16}) cases.push_back({{rows, 70}, {70, 40}, {rows, 40}, left, right});
  check_exactly(cases);
}

TEST_P(Matmul, ShapesFromOneToTwoTilesAndABit) {
  std::vector<Case> cases;
  for (const i64 rows : {1, 32, 65}) {
    cases.push_back({{rows, 33}, {33, 65}, {rows, 65}, fp32, bf16});
    cases.push_back({{rows, 65}, {65, 1}, {rows, 1}, fp32, bf16});
    cases.push_back({{rows, 1}, {1, 31}, {rows, 31}});
  }
  cases.push_back({{63, 31}, {31, 32}, {63, 32}});
  check_exactly(cases);
}

TEST_P(Matmul, LeadingAxesBroadcast) {
  check_exactly({{{3, 5, 33}, {33, 7}, {3, 5, 7}},
                 {{5, 33}, {3, 33, 7}, {3, 5, 7}},
                 {{2, 3, 5, 33}, {2, 1, 33, 40}, {2, 3, 5, 40}},
                 {{2, 1, 1, 64}, {3, 64, 33}, {2, 3, 1, 33}, fp32, bf16},
                 {{3, 4, 64}, {3, 64, 8}, {3, 4, 8}, fp32, bf16}});
}

TEST_P(Matmul, ATransposedRightOperand) {
  check_exactly({{{33, 40}, {65, 40}, {33, 65}, bf16, bf16, Precision::standard, true},
                 {{33, 40}, {65, 40}, {33, 65}, fp32, bf16, Precision::standard, true},
                 {{1, 40}, {65, 40}, {1, 65}, fp32, bf16, Precision::standard, true},
                 {{33, 40}, {65, 40}, {33, 65}, fp32, fp32, Precision::standard, true},
                 {{1, 64}, {70, 64}, {1, 70}, fp32, fp32, Precision::standard, true},
                 {{2, 3, 5, 64}, {2, 1, 33, 64}, {2, 3, 5, 33}, fp32, fp32, Precision::standard, true},
                 {{5, 64}, {1, 64}, {5, 1}, fp32, fp32, Precision::standard, true}});
}

TEST_P(Matmul, PrecisionIsThatOfTheFormatsAndPhases) {
  const struct {
    const char* name;
    DType left, right;
    Precision precision;
    double relative;
  } modes[] = {{"bf16, four phases", bf16, bf16, Precision::standard, kFourPhases},
               {"bf16, two phases", bf16, bf16, Precision::fast, kTwoPhases},
               {"tf32", fp32, fp32, Precision::standard, kTf32},
               {"split", fp32, bf16, Precision::standard, kSplit}};
  std::vector<Tensor> outputs;
  std::vector<Array> wants;
  for (const i64 rows : {1, 40}) {
    for (const auto& mode : modes) {
      const Array x = stored(random_array({rows, 100}, 1), mode.left),
                  y = stored(random_array({100, 64}, 2), mode.right);
      outputs.push_back(matmul(upload(x, mode.left), upload(y, mode.right), mode.precision));
      wants.push_back(product(x, y, {rows, 64}));
    }
  }
  realize(outputs);
  for (size_t n = 0; n < outputs.size(); ++n) {
    const auto& mode = modes[n % std::size(modes)];
    expect(mode.name, outputs[n], wants[n], {0, mode.relative * largest(wants[n])});
  }
}

// Each element within the bound that Precision::full states, for rows and columns of very different sizes.
TEST_P(Matmul, FullPrecisionIsThatOfFp32) {
  constexpr i64 kInner = 100, kCols = 64;
  std::vector<Tensor> outputs;
  std::vector<std::pair<Array, Array>> operands;
  for (const i64 rows : {1, 40}) {
    Array x = random_array({rows, kInner}, 1), y = random_array({kInner, kCols}, 2);
    std::mt19937 random(3);
    for (size_t n = 0; n < x.values.size(); ++n) x.values[n] *= std::exp2(i64(n) / kInner - i64(random() % 12));
    for (size_t n = 0; n < y.values.size(); ++n) y.values[n] *= std::exp2(i64(n) % kCols - i64(random() % 12));
    x = stored(x, fp32), y = stored(y, fp32);
    Array turned = generate({kCols, kInner}, [&](const Shape& i) { return y.at({i[1], i[0]}); });
    for (const Tensor& w : {upload(y), upload(turned).transpose()}) {
      outputs.push_back(matmul(upload(x), w, Precision::full));
      operands.push_back({x, y});
    }
  }
  realize(outputs);
  for (size_t n = 0; n < outputs.size(); ++n) {
    const auto& [x, y] = operands[n];
    const Array want = product(x, y, outputs[n].shape());
    const std::vector<float> got = outputs[n].to_host();
    double worst = 0;
    for (size_t at = 0; at < got.size(); ++at) {
      double in_row = 0, in_col = 0;
      for (i64 k = 0; k < kInner; ++k) {
        in_row = std::max(in_row, std::abs(x.at({i64(at) / kCols, k})));
        in_col = std::max(in_col, std::abs(y.at({k, i64(at) % kCols})));
      }
      worst = std::max(worst, std::abs(double(got[at]) - want.values[at]) / (in_row * in_col * kInner));
    }
    EXPECT_LE(worst * 0x1p24, 1) << n;
    EXPECT_GT(worst, 0) << n;
  }
}

TEST_P(Matmul, FullPrecisionOfPermutedBatches) {
  const Array x = eighths({2, 2, 3, 40}, 1), y = eighths({2, 2, 40, 33}, 2);
  const auto turned = [](const Array& a) {
    const Shape& s = a.shape;
    return generate({s[1], s[0], s[3], s[2]}, [&](const Shape& i) { return a.at({i[1], i[0], i[3], i[2]}); });
  };
  const Tensor left = upload(turned(x)).permute({1, 0, 3, 2}), right = upload(turned(y)).permute({1, 0, 3, 2});
  expect("product", matmul(left, right, Precision::full), product(x, y, {2, 2, 3, 33}));
}

TEST_P(Matmul, ZeroTimesAnythingStaysZeroAndARowDoesNotDisturbAnother) {
  Array x = eighths({33, 64}, 1);
  const Array y = eighths({64, 40}, 2);
  for (i64 k = 0; k < 64; ++k) x.values[size_t(7 * 64 + k)] = 0;
  for (i64 k = 0; k < 64; ++k) x.values[size_t(8 * 64 + k)] *= 0x1p40;
  expect("product", matmul(upload(x), upload(y)), product(x, y, {33, 40}));
}

TEST_P(Matmul, GoesOnWithWhatFollowsIt) {
  const Array x = eighths({33, 64}, 1), w = eighths({64, 40}, 2), bias = eighths({40}, 3), r = eighths({33, 40}, 4);
  Tensor y = matmul(upload(x), upload(w, bf16));
  const Array plain = product(x, w, {33, 40});
  Tensor biased = relu(y + upload(bias)), residual = upload(r) - y;
  realize({biased, residual});
  expect("relu and bias", biased,
         generate({33, 40}, [&](const Shape& i) { return std::max(0.0, plain.at(i) + bias.at(i)); }));
  expect("residual", residual, generate({33, 40}, [&](const Shape& i) { return r.at(i) - plain.at(i); }));
}

TEST_P(Matmul, ATransposedLeftOperandIsNotCopiedWhateverIsOnTheRight) {
  const Array x = eighths({70, 40}, 1);
  const Array turned = generate({40, 70}, [&](const Shape& i) { return x.at({i[1], i[0]}); });
  for (const auto& [left, right] :
       std::vector<std::pair<DType, DType>>{{fp32, fp32}, {bf16, bf16}, {bf16, DType::bfp8}, {bf16, DType::bfp4}}) {
    const Array y = stored(eighths({70, 33}, 2), right);
    const Tensor a = upload(x, left).transpose(), b = upload(y, right);
    EXPECT_EQ(launches([&] { matmul(a, b).realize(); }), 1u);
    expect(compiler::to_string(right), matmul(a, b), product(turned, y, {40, 33}), {0, 0.25});
  }
}

TEST_P(Matmul, OfAProductOfASliceAndOfItself) {
  const Array x = eighths({40, 40}, 1), y = eighths({70, 96}, 2);
  Tensor a = upload(x), part = upload(y);
  Tensor square = matmul(a, a), sliced = matmul(a, part.slice(0, 0, 40).slice(1, 32, 96)),
         row = matmul(part.slice(0, 3, 4).slice(1, 0, 40), a), gram = matmul(a.transpose(), a);
  realize({square, sliced, row, gram});
  expect("square", square, product(x, x, {40, 40}));
  expect("slice", sliced,
         product(x,
                 generate({40, 64},
                          [&](const Shape& i) {
                            return y.at({i[0], i[1] + 32});
                          }),
                 {40, 64}));
  expect("row", row, product(generate({1, 40}, [&](const Shape& i) { return y.at({3, i[1]}); }), x, {1, 40}));
  expect("gram", gram, product(generate({40, 40}, [&](const Shape& i) { return x.at({i[1], i[0]}); }), x, {40, 40}));
}

}  // namespace
}  // namespace baretile::tensor_test
