// From graph to Program.
#include "baretile/abi.h"
#include "compiler/compiler.h"
#include "compiler/emit/emit.h"
#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

// Seven values and seven more made of them, all needed to the end: more than registers and Dst hold.
Tensor crowded(const Shape& shape) {
  std::vector<Tensor> x, powers;
  for (size_t n = 0; n < 7; ++n) x.push_back(input(shape));
  for (size_t n = 0; n < 7; ++n) powers.push_back(pow(x[n], x[(n + 1) % 7]));
  Tensor out = powers[0];
  for (size_t n = 0; n < 7; ++n) out = out * x[(n + 3) % 7] + powers[(n + 4) % 7] * powers[(n + 2) % 7];
  return out;
}

Tensor sum_of_seven(const Shape& shape) {
  Tensor out = input(shape);
  for (int n = 1; n < 7; ++n) out = out + input(shape);
  return out;
}

TEST(Compile, AKernelThatDstCannotHoldIsCutAndNoOther) {
  setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1);
  const auto launches = [](std::vector<Tensor> tensors) {
    return compile(capture(tensors).graph).program.launches.size();
  };
  const size_t cut = launches({crowded({40, 64})});
  EXPECT_GT(cut, 1u);
  EXPECT_EQ(launches({sum_of_seven({70, 33})}), 1u);
  EXPECT_EQ(launches({crowded({40, 64}), sum_of_seven({70, 33})}), cut + 1);
}

TEST(Compile, WhatFillsL1IsToldByTheNamesThatShowPrints) {
  const Tensor x = input({64, 96}), w = input({96, 32}), residual = input({64, 32});
  const Result r = scheduled({matmul(exp(x), w) + residual});
  ASSERT_THAT(to_string(r.plan),
              testing::HasSubstr("leaves v3 fp32 [64, 96]: products take their operands from memory"));
  try {
    emit(r.schedule.kernels.back(), 1 << 19);
    ADD_FAILURE() << "fitted";
  } catch (const KernelTooLarge& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("left operand, v3: 1x64x96 in fp32"));
    EXPECT_THAT(error.what(), testing::HasSubstr("right operand, v1: 1x96x32 in fp32"));
    EXPECT_THAT(error.what(), testing::HasSubstr("loaded, v2: 1x64x32 in fp32"));
  }
}

TEST(Compile, ValuesOfOtherNamesMakeNoOtherKernel) {
  const Tensor x = input({40, 64}), y = input({40, 64});
  EXPECT_EQ(scheduled({relu(x), relu(y)}).schedule.kernels.size(), 1u);
}

// What is needed to the end is made of one operand, so that no fewer operands make room.
TEST(Compile, AKernelOfManyValuesOfOneOperandIsCut) {
  setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1);
  constexpr size_t kCount = 6;
  const Tensor sum = input({33, 63}) + 0.25;
  std::vector<Tensor> powers, out;
  for (size_t n = 0; n < kCount; ++n) powers.push_back(exp(sum * (0.25 * double(n) + 1)));
  for (size_t n = 0; n < kCount; ++n) out.push_back(powers[n] * powers[kCount - 1 - n] + double(n));
  const size_t launches = compile(capture(out).graph).program.launches.size();
  EXPECT_GT(launches, 1u);
  EXPECT_LE(launches, kCount);
}

TEST(Compile, AKernelOfMoreTensorsThanALaunchNamesIsTooLarge) {
  const auto kernel = [](size_t count) {
    const Tensor sum = input({3}) + 0.25;
    std::vector<Tensor> out;
    for (size_t n = 0; n < count; ++n) out.push_back(sum * double(n + 2));
    const Capture captured = capture(out);
    const FusionPlan plan = fuse(captured.graph);
    EXPECT_EQ(plan.kernels.size(), 1u);
    return plan.kernels[0].spec;
  };
  EXPECT_NO_THROW(emit(kernel(abi::kMaxArgs - 1)));
  EXPECT_THROW(emit(kernel(abi::kMaxArgs)), KernelTooLarge);
}

}  // namespace
}  // namespace baretile::compiler::test
