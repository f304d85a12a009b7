// A row's result is the same wherever it sits in a batch.
#include "baretile/nn.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Rows : public OnDevice {
 protected:
  static constexpr i64 kCols = 70;
  // Random matrices, in which one row stands at these places of the batch.
  static const std::vector<std::pair<i64, i64>>& places() {
    static const std::vector<std::pair<i64, i64>> all{{0, 0},  {0, 15}, {0, 16}, {0, 31},
                                                      {0, 32}, {1, 7},  {2, 63}, {2, 98}};
    return all;
  }
  static Array batch(i64 matrices) {
    Array x = random_array({matrices, 99, kCols}, 1);
    const Array row = random_array({kCols}, 2);
    for (const auto& [matrix, at] : places())
      if (matrix < matrices)
        std::copy(row.values.begin(), row.values.end(), x.values.begin() + (matrix * 99 + at) * kCols);
    return x;
  }
  static void expect_alike(const std::string& name, const Tensor& result) {
    const std::vector<float> values = result.to_host();
    const i64 cols = result.shape().back();
    const auto row = [&](i64 matrix, i64 at) {
      const auto first = values.begin() + (matrix * 99 + at) * cols;
      return std::vector<float>(first, first + cols);
    };
    for (const auto& [matrix, at] : places())
      if (matrix < result.shape()[0]) {
        EXPECT_EQ(row(matrix, at), row(0, 0)) << name << ", row " << at << " of matrix " << matrix;
      }
  }
};
ON_EACH_DEVICE(Rows);

TEST_P(Rows, ComeOutAlikeWhereverTheySitInABatch) {
  const Tensor w = upload(random_array({kCols, 130}, 3)), scale = upload(random_array({kCols}, 4)),
               keys = upload(random_array({1, 45, kCols}, 5));
  for (const i64 matrices : {1, 3}) {
    const Tensor x = upload(batch(matrices)), narrow = upload(batch(matrices), bf16);
    for (const Precision precision : {Precision::fast, Precision::standard, Precision::full})
      expect_alike("matmul", matmul(x, w, precision));
    expect_alike("bf16 matmul", matmul(narrow, w.cast(bf16)));
    expect_alike("softmax", softmax(x));
    expect_alike("layer norm", nn::layer_norm(x, scale, scale));
    expect_alike("rms norm", rms_norm(x, scale));
    expect_alike("sum", sum(x, -1, true));
    expect_alike("cumsum", cumsum(x, -1));
    expect_alike("gelu", gelu(x) * scale);
    expect_alike("attention", nn::scaled_dot_product_attention(x, keys, keys));
  }
}

}  // namespace
}  // namespace baretile::tensor_test
