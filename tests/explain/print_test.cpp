// The stages of small graphs, word for word.
#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

TEST(Print, ReluOfMatmulActsInDstBeforeItIsPacked) {
  Result r = scheduled({relu(matmul(input({40, 64}), input({64, 96}, DType::bf16)))});
  EXPECT_EQ("\n" + to_string(r.graph) + to_string(r.schedule), R"(
%0 = external [0] : fp32 [40, 64]
%1 = external [1] : bf16 [64, 96]
%2 = matmul %0 %1 [4] : fp32 [40, 96]
%3 = relu %2 : fp32 [40, 96]
outputs %3
kernel convert_1x40x64
  @0: fp32 [1, 40, 64] tile
  @1: fp32 [1, 40, 64] split
  domain batch 1 tiles 2x2 elements 40x64
  %0 = load @0 i2*2 j2*1
  store %0 -> @1 i10*2 j2*1
kernel matmul_relu_1x40x96
  @0: fp32 [1, 40, 64] split
  @1: bf16 [1, 64, 96] tile
  @2: fp32 [1, 40, 96] tile
  domain batch 1 tiles 2x3 elements 40x96
  %0 = contract 2 tiles, 2 phases: [@0 i10*2 j2*1] x [@1 i2*3 j3*1]
  %1 = relu %0
  store %1 -> @2 i2*3 j3*1
buffer 0: [40, 64] fp32 tile 4 pages external 0
buffer 1: [40, 64] fp32 split 20 pages arena 0x0
buffer 2: [64, 96] bf16 tile 6 pages external 1
buffer 3: [40, 96] fp32 tile 6 pages external 2
launch convert_1x40x64 (0, 1)
launch matmul_relu_1x40x96 (1, 2, 3)
arena 2048 bytes a bank
)");
}

TEST(Print, WhichTilesALaunchIsFor) {
  Program program{.kernels = {{.name = "k", .code = {}, .key = "0"}}};
  const std::vector<LaunchArg> args{{LaunchArg::Kind::buffer, 3}, {LaunchArg::Kind::buffer, 5}};
  program.launches.push_back({.max_workers = 48, .args = args, .beside = 1});
  program.launches.push_back({.max_workers = 64, .args = args, .block_rows = 8, .block_columns = 16});
  EXPECT_THAT(to_string(program), testing::EndsWith("launch k on 48 tiles (@3, @5), beside @5\n"
                                                    "launch k on 64 tiles (@3, @5), a team for 8 x 16 blocks\n"));
}

TEST(Print, WhyAKernelEnds) {
  const Tensor x = input({40, 64}), w = input({64, 64}), v = input({64, 32});
  const Tensor hidden = relu(matmul(x, w)), out = matmul(hidden, v);
  Result r = scheduled({softmax(out), sum(hidden, 0)});
  EXPECT_EQ("\n" + to_string(r.plan), R"(
kernel matmul_relu_1x40x64
  leaves v3 fp32 [40, 64]: products take their operands from memory; its reader takes it in more than one pass, a product is made once
kernel matmul_1x40x32
  leaves v4 fp32 [40, 32]: its reader takes it in more than one pass, a product is made once
kernel max_sub_exp_reciprocal_mul_1x40x32
  leaves v5 fp32 [40, 32]: it is a result
kernel sum_1x40x64
  leaves v6 fp32 [1, 64]: it is a result
)");
}

TEST(Print, SoftmaxIsOneKernelOfTwoReductions) {
  Result r = scheduled({softmax(input({5, 70}))});
  ASSERT_EQ(r.schedule.kernels.size(), 1u);
  EXPECT_EQ("\n" + to_string(r.schedule.kernels[0]), R"(
kernel max_sub_exp_reciprocal_mul_1x5x70
  @0: fp32 [1, 5, 70] tile
  @1: fp32 [1, 5, 70] tile
  domain batch 1 tiles 1x3 elements 5x70 reduce cols
  %0 = load @0 j3*1
  %1 = reduce maximum %0
  %2 = sub %0 %1
  %3 = exp %2
  %4 = reduce add %3
  %5 = reciprocal %4
  %6 = mul %3 %5
  store %6 -> @1 j3*1
)");
}

TEST(Print, HalvesChangePlacesByThePageMap) {
  Result r = scheduled({rope(input({3, 37, 64}), input({37, 64}), input({37, 64}))});
  ASSERT_EQ(r.schedule.kernels.size(), 1u);
  EXPECT_EQ("\n" + to_string(r.schedule.kernels[0]), R"(
kernel mul_add_3x37x64
  @0: fp32 [3, 37, 64] tile
  @1: fp32 [1, 37, 64] tile
  @2: fp32 [1, 37, 64] tile
  @3: fp32 [3, 37, 64] tile
  domain batch 3 tiles 2x2 elements 37x64
  %0 = load @0 b3*4 i2*2 j2*1
  %1 = load @1 b3*0 i2*2 j2*1
  %2 = mul %0 %1
  %3 = load @0 1 b3*4 i2*2 j2*-1
  %4 = load @2 b3*0 i2*2 j2*1
  %5 = mul %3 %4
  %6 = add %2 %5
  store %6 -> @3 b3*4 i2*2 j2*1
)");
}

TEST(Print, MovesSayWhatGoesWhere) {
  Tensor cache = input({3, 32, 64}), index = input({5}, DType::int32);
  cache.assign_rows(index, input({5, 192}).reshape({5, 3, 64}).permute({1, 0, 2}));
  Result r = scheduled({cache, input({6, 40}).transpose()});
  EXPECT_EQ("\n" + to_string(r.schedule.kernels[0]) + to_string(r.schedule.kernels[1]), R"(
kernel assign_rows_3x5x64
  @0: fp32 [1, 5, 192] tile
  @1: int32 [1, 1, 5] row
  @2: fp32 [3, 32, 64] tile
  scatter rows @2[@1] = @0 box [3, 5, 64] from 0 strides [64, 192, 1]
kernel copy_40x6
  @0: fp32 [1, 6, 40] tile
  @1: fp32 [1, 40, 6] tile
  copy @1 = @0 box [40, 6] from 0 strides [1, 40] to 0 strides [6, 1], rest zero
)");
}

}  // namespace
}  // namespace baretile::compiler::test
