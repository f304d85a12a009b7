#include <sstream>

#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class HostValues : public OnDevice {};
ON_EACH_DEVICE(HostValues);

std::string printed(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

TEST_P(HostValues, TheFirstExamplePrintsAsThePagesSay) {
  Tensor w = Tensor::of(runtime(), {{2, 0}, {0, 3}});
  EXPECT_EQ(printed(relu(matmul(Tensor::of(runtime(), {{1, -2}, {3, 4}}), w))), "[[2, 0], [6, 12]]");
  EXPECT_EQ(printed(relu(matmul(Tensor::of(runtime(), {{1, 2}, {3, 4}}), w))), "[[2, 6], [6, 12]]");
}

TEST_P(HostValues, TensorsPrintAsNestedLists) {
  EXPECT_EQ(printed(Tensor::of(runtime(), {1.5, -2, 0.1})), "[1.5, -2, 0.1]");
  EXPECT_EQ(printed(Tensor::of(runtime(), {{{1}, {2}}, {{3}, {4}}})), "[[[1], [2]], [[3], [4]]]");
  EXPECT_EQ(printed(Tensor::of(runtime(), {{7, -8}}, DType::int32)), "[[7, -8]]");
  EXPECT_EQ(Tensor::of(runtime(), {16777217, -2147483648.0}, DType::int32).to_host_int32(),
            (std::vector<i32>{16777217, INT32_MIN}));
  EXPECT_EQ(printed(Tensor::of(runtime(), {1e30, 123456789, 1e-6}, fp32)), "[1e+30, 1.23457e+08, 1e-06]");
  EXPECT_EQ(printed(Tensor::of(runtime(), {1.01}, bf16)), "[1.00781]");  // 1 + 2^-7
  EXPECT_EQ(printed(Tensor::from_host(runtime(), std::vector{INFINITY, -INFINITY, -0.0f}, {3})), "[inf, -inf, -0]");
  EXPECT_EQ(printed(Tensor::from_host(runtime(), std::vector{5.0f}, {})), "5");
}

TEST_P(HostValues, EveryShapeComesBackAsItWentAndItsPaddingIsZero) {
  std::vector<Shape> shapes{{}, {7}, {3, 1, 33}, {2, 3, 5, 40}, {2, 1, 3, 65}};
  for (const i64 rows : {1, 31, 32, 33, 63, 65})
    for (const i64 cols : {1, 31, 32, 33, 65}) shapes.push_back({rows, cols});
  for (const Shape& shape : shapes) {
    const Array x = eighths(shape, 1);
    expect("fp32", upload(x), x);
    expect("bf16", upload(x, bf16), x);
    std::vector<i32> numbers(x.values.size());
    for (size_t n = 0; n < numbers.size(); ++n) numbers[n] = i32(n * 2654435761u);
    Tensor integers = Tensor::from_host(runtime(), numbers, shape);
    EXPECT_EQ(integers.to_host_int32(), numbers);
    EXPECT_EQ(values_in_padding(runtime(), integers), 0u);
  }
}

TEST_P(HostValues, Fp32KeepsEveryBit) {
  const std::vector<u32> bits{0x80000000, 1, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001, 0x7F800001, 0x3F800001};
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * 4);
  const std::vector<float> back = Tensor::from_host(runtime(), values, {i64(bits.size())}).to_host();
  EXPECT_EQ(std::memcmp(back.data(), bits.data(), bits.size() * 4), 0);
}

// Expected bits: ml_dtypes.bfloat16 of the same floats.
TEST_P(HostValues, Bf16RoundsToNearestEvenAndKeepsEveryBitPattern) {
  const std::vector<u32> bits{0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0xBF80FFFF, 0x00008000, 0x7F800001};
  const std::vector<u32> want{0x3F800000, 0x3F820000, 0x3F810000, 0x7F800000, 0xBF810000, 0x00000000, 0x7FC00000};
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * 4);
  const std::vector<float> back = Tensor::from_host(runtime(), values, {i64(bits.size())}, bf16).to_host();
  for (size_t n = 0; n < bits.size(); ++n) EXPECT_EQ(std::bit_cast<u32>(back[n]), want[n]) << n;

  std::vector<u16> all(65536);
  for (u32 n = 0; n < all.size(); ++n) all[n] = u16(n);
  const std::vector<float> same = Tensor::from_host_bf16(runtime(), all, {256, 256}).to_host();
  u32 wrong = 0;
  for (u32 n = 0; n < all.size(); ++n) wrong += std::bit_cast<u32>(same[n]) != n << 16;
  EXPECT_EQ(wrong, 0u);
}

TEST_P(HostValues, ZerosAndConstantsAreTensors) {
  expect("zeros", Tensor::zeros(runtime(), {3, 40}), Array{{3, 40}, std::vector<double>(120)});
  expect("bf16 zeros", Tensor::zeros(runtime(), {5}, bf16), Array{{5}, std::vector<double>(5)});
  expect("constant", Tensor::zeros(runtime(), {33, 2}) + Tensor(2.5f),
         Array{{33, 2}, std::vector<double>(66, 2.5)});
}

}  // namespace
}  // namespace baretile::tensor_test
