// Integers and booleans beside floats: words stay whole on every way through a kernel, and operands meet in one dtype.
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class DTypes : public OnDevice {
 protected:
  // All kinds of bits, also those that would be denormals, infinities and NaNs as floats.
  static std::vector<i32> words(size_t count) {
    std::vector<i32> out(count);
    std::mt19937 random(7);
    for (i32& word : out) word = i32(random() >> random() % 32);
    out[0] = INT32_MIN, out[1] = -1, out[2] = 0x7F800001, out[3] = 1;
    return out;
  }
};
ON_EACH_DEVICE(DTypes);

TEST_P(DTypes, WordsPassThroughKernelsUnchanged) {
  const std::vector<i32> values = words(37 * 70);
  const Tensor x = Tensor::from_host(runtime(), values, {37, 70});
  EXPECT_EQ(x.to_host_int32(), values);
  const std::vector<i32> across = x.transpose().to_host_int32(),
                         part = x.slice(0, 3, 20).slice(1, 32, 70).to_host_int32();
  const std::vector<i32> paged = x.slice(1, 0, 64).reshape({37, 2, 32}).permute({1, 0, 2}).to_host_int32();
  for (size_t r = 0; r < 37; ++r) {
    for (size_t c = 0; c < 70; ++c) {
      EXPECT_EQ(across[c * 37 + r], values[r * 70 + c]);
      const i32 value = values[r * 70 + c];
      EXPECT_EQ(r >= 3 && r < 20 && c >= 32 ? part[(r - 3) * 38 + c - 32] : value, value);
      EXPECT_EQ(c < 64 ? paged[(c / 32 * 37 + r) * 32 + c % 32] : value, value);
    }
  }
}

TEST_P(DTypes, WordsAreRepeatedUnchanged) {
  const std::vector<i32> values = words(65);
  const Tensor row = Tensor::from_host(runtime(), values, {1, 65}), col = Tensor::from_host(runtime(), values, {65, 1});
  const std::vector<i32> down = row.expand({33, 65}).to_host_int32(), across = col.expand({65, 40}).to_host_int32();
  for (size_t n = 0; n < down.size(); ++n) EXPECT_EQ(down[n], values[n % 65]);
  for (size_t n = 0; n < across.size(); ++n) EXPECT_EQ(across[n], values[n / 40]);
  const Tensor one = Tensor::from_host(runtime(), std::vector<i32>{-1}, {1, 1});
  for (const i32 word : one.expand({33, 34}).to_host_int32()) EXPECT_EQ(word, -1);
}

TEST_P(DTypes, UnsignedAndBooleanValuesComeBack) {
  const std::vector<u32> values{0, 1, 0x80000000, 0xFFFFFFFF};
  EXPECT_EQ(Tensor::from_host(runtime(), values, {4}).to_host_uint32(), values);
  EXPECT_EQ(to_string(Tensor::from_host(runtime(), values, {2, 2})), "[[0, 1], [2147483648, 4294967295]]");
  const bool truth[] = {true, false, true};
  const Tensor mask = Tensor::from_host(runtime(), truth, {3});
  EXPECT_EQ(mask.dtype(), DType::boolean);
  EXPECT_EQ(mask.to_host(), (std::vector<float>{1, 0, 1}));
}

TEST_P(DTypes, OperandsMeetInTheLaterDtype) {
  const auto of = [](DType dtype) { return Tensor::placeholder({2}, dtype); };
  const DType b = DType::boolean, u = DType::uint32, i = DType::int32;
  EXPECT_EQ((of(b) + of(u)).dtype(), u);
  EXPECT_EQ((of(u) + of(i)).dtype(), i);
  EXPECT_EQ((of(i) + of(bf16)).dtype(), bf16);
  EXPECT_EQ((of(bf16) * of(fp32)).dtype(), fp32);
  EXPECT_EQ((of(b) + of(b)).dtype(), i) << "booleans count";
  EXPECT_EQ((of(i) + 1).dtype(), i);
  EXPECT_EQ((of(i) + 0.5).dtype(), fp32) << "no integer holds it";
  EXPECT_EQ((of(u) + -1).dtype(), i);
  EXPECT_EQ((of(bf16) + 0.1).dtype(), bf16);
  EXPECT_EQ((of(i) < 3).dtype(), b);
  EXPECT_EQ(exp(of(i)).dtype(), fp32);
  EXPECT_EQ(exp(of(bf16)).dtype(), bf16);
  EXPECT_EQ(where(of(i), of(bf16), 1).dtype(), bf16);
  EXPECT_EQ((Tensor(2) * Tensor(3)).dtype(), fp32);
}

}  // namespace
}  // namespace baretile::tensor_test
