#include <gtest/gtest.h>

#include <cstring>

#include "sim/tensix/packer.h"
#include "sim/tensix/state.h"

namespace baretile::sim {
namespace {

using isa::Format;

u32 early(EarlyConversion conversion, u32 dst_bits) {
  u32 out = 0;
  convert_early(conversion, &dst_bits, 1, &out, false);
  return out;
}

TEST(PackConvert, RoundsFp32ToBf16WithTiesAway) {
  const auto bf16 = [](u32 v) { return early(EarlyConversion::bf16_of_fp32, dst_of_fp32(v)); };
  EXPECT_EQ(bf16(0x3F808000), 0x3F810000u);
  EXPECT_EQ(bf16(0xBF807FFF), 0xBF800000u);
  EXPECT_EQ(bf16(0x7F7FFFFF), 0x7F800000u);
  EXPECT_EQ(bf16(0xFF800001), 0xFF800000u);  // NaN becomes infinity
  EXPECT_EQ(bf16(0x80000001), 0u);           // denormals and minus zero become zero
}

TEST(PackConvert, Bfp4IsBfp8RoundedAndThenCut) {
  u32 values[16] = {};
  for (u32 i = 0; i < 16; i++) values[i] = 0x3F800000 + (i << 19);  // 1 + i/16
  values[15] = 0x3F000000;
  u8 bfp8[16], bfp4[8], exponent8, exponent4;
  EXPECT_EQ(convert_late(LateConversion::bfp8, values, 16, bfp8, &exponent8), 16u);
  EXPECT_EQ(convert_late(LateConversion::bfp4, values, 16, bfp4, &exponent4), 8u);
  EXPECT_EQ(exponent8, 127);
  for (u32 i = 0; i < 15; i++) EXPECT_EQ(bfp8[i], 0x40 + 4 * i);
  EXPECT_EQ(bfp8[15], 0x20);
  for (u32 i = 0; i < 16; i++) EXPECT_EQ(bfp4[i / 2] >> 4 * (i & 1) & 15, bfp8[i] >> 4);
}

TEST(PackConvert, HasTheModesOfTtsimAndNoOthers) {
  u32 modes = 0;
  for (u32 code = 0; code < 512; code++)
    modes += pack_mode(code >> 8, Format(code >> 4 & 15), Format(code & 15)).early != EarlyConversion::none;
  EXPECT_EQ(modes, 28u);
}

TEST(PackConvert, ReluClampsAtTheThreshold) {
  u32 values[] = {0xBF800000, 0x3F000000, 0x40000000, 0x80000000};
  apply_relu(3, 0x3F800000, false, values, 4);
  EXPECT_EQ(values[0], 0u);
  EXPECT_EQ(values[1], 0x3F000000u);
  EXPECT_EQ(values[2], 0x3F800000u);
  EXPECT_EQ(values[3], 0u);
}

TEST(PackConvert, SumsOfL1AccumulateRoundToEven) {
  EXPECT_EQ(add_fp32(0x3F800000, 0x3F800000), 0x40000000u);
  EXPECT_EQ(add_fp32(0x7F800001, 0x3F800000), 0x7FC00000u);
  EXPECT_EQ(add_fp32(0x00000001, 0x80000001), 0u);
  EXPECT_EQ(add_bf16(0x3F80, 0x3B80), 0x3F80u);  // 1 + 2^-8: the tie goes to the even neighbour
  EXPECT_EQ(add_bf16(0x3F81, 0x3B80), 0x3F82u);
  EXPECT_EQ(add_fp16(0x3C00, 0x3C00), 0x4000u);
}

}  // namespace
}  // namespace baretile::sim
