// What block formats keep of a value, against plain arithmetic.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tensor/format.h"

namespace baretile {
namespace {

constexpr DType bfp4 = DType::bfp4, bfp8 = DType::bfp8;
constexpr u32 bits_per_value(DType dtype) { return dtype == bfp4 ? 4 : 8; }

// 16 values by plain arithmetic: multiples of a step, to nearest, ties away from zero.
struct Reference {
  double step = 0;
  u8 exponent = 0;
  u32 most = 0;  // of the magnitude

  Reference(std::span<const float> values, DType dtype) {
    const int kept = dtype == bfp4 ? 3 : 7;
    most = (1u << kept) - 1;
    double largest = 0;
    for (const float v : values) largest = std::max(largest, std::fabs(double(v)));
    if (largest < std::numeric_limits<float>::min()) return;
    int e = std::ilogb(largest);
    if (dtype == bfp4 && largest >= std::ldexp(7.5, e - 2)) ++e;  // rounds up to the next power of two
    step = std::ldexp(1.0, e - kept + 1);
    exponent = u8(e + 127);
  }
  double stored(float v) const {
    if (step == 0 || std::fabs(v) < std::numeric_limits<float>::min()) return 0;
    const double magnitude = std::min(std::floor(std::fabs(double(v)) / step + 0.5), double(most));
    return magnitude == 0 ? 0 : std::copysign(magnitude * step, double(v));
  }
};

struct Block {
  std::array<u8, 16> data{};
  u8 exponent = 0;
  std::array<float, 16> back{};
  Block(std::span<const float> values, DType dtype) {
    const u32 bits = bits_per_value(dtype);
    exponent = encode_block(values, bits, std::span(data).first(2 * bits));
    decode_block(std::span(data).first(2 * bits), exponent, bits, back);
  }
};

TEST(BlockFormat, EveryBf16IsRoundedToTheNearestMultipleOfTheLargestValuesStep) {
  for (const DType dtype : {bfp4, bfp8}) {
    for (u32 bits = 0; bits < 0x7F80; ++bits) {
      for (const int above : {0, 1, 2, 3, 4, 6, 7, 8, 9}) {
        const float v = float_from_bf16(u16(bits)), larger = std::ldexp(v, above);
        if (std::isinf(larger) || (dtype == bfp4 && bits < 6 << 7)) continue;  // below, bfp4 is cut
        if (dtype == bfp4 && larger >= 3.19e38f) continue;                     // rounds to infinity
        const float values[] = {v, -v, larger, 0.75f * larger};
        const Reference want(values, dtype);
        const Block got(values, dtype);
        ASSERT_EQ(got.exponent, want.exponent) << v << " below " << larger;
        for (u32 i = 0; i < 4; ++i) {
          ASSERT_EQ(got.back[i], want.stored(values[i])) << values[i] << " below " << larger;
          ASSERT_FALSE(got.back[i] == 0 && std::signbit(got.back[i]));
        }
      }
    }
  }
}

TEST(BlockFormat, RandomBlocksLieWithinHalfAStep) {
  std::mt19937 random(3);
  for (u32 n = 0; n < 20000; ++n) {
    const DType dtype = n % 2 ? bfp4 : bfp8;
    float values[16];
    const u32 range = 1 + n % 12;
    for (float& v : values) v = std::ldexp(float(i32(random())), int(random() % range) - 40);
    const Reference want(values, dtype);
    const Block got(values, dtype);
    for (u32 i = 0; i < 16; ++i) {
      // bfp8 has no next power of two for what is above 127.5 steps; bfp4 sees a tie where one is within 2^-24.
      const double limit = std::fabs(values[i]) > want.most * want.step ? 1 : 0.5 + 0x1p-22;
      ASSERT_LE(std::fabs(got.back[i] - double(values[i])), limit * want.step) << values[i];
    }
  }
}

TEST(BlockFormat, InfinityAndNaNStayAndTheRestOfTheirBlockVanishes) {
  for (const DType dtype : {bfp4, bfp8}) {
    const Block got(std::array{1.0f, -INFINITY, 1e20f, std::bit_cast<float>(0x7F800001)}, dtype);
    EXPECT_EQ(got.back[0], 0);
    EXPECT_EQ(got.back[1], -INFINITY);
    EXPECT_EQ(got.back[2], 0);
    EXPECT_TRUE(std::isnan(got.back[3]));
    EXPECT_EQ(got.exponent, 255);
    const Block small(std::array{1e-40f, -0.0f}, dtype);
    EXPECT_EQ(small.exponent, 0);
    EXPECT_EQ(small.data, (std::array<u8, 16>{}));
  }
  EXPECT_EQ(Block(std::array{3.3e38f}, bfp8).back[0], std::ldexp(124.f, 121));
  EXPECT_EQ(Block(std::array{3.3e38f}, bfp4).back[0], INFINITY);
}

TEST(BlockFormat, APageIsExponentsThenDatumsFaceByFace) {
  PageFormat eight({33, 40}, bfp8), four({33, 40}, bfp4);
  EXPECT_EQ(eight.page_bytes(), 64u + 1024u);
  EXPECT_EQ(four.page_bytes(), 64u + 512u);
  std::vector<float> values(33 * 40, 0.0f), back(values.size());
  values[1 * 40 + 17] = -1.5f;  // face 1, row 1
  values[32 * 40 + 39] = 4;     // the last page's first row
  std::vector<std::byte> pages(4 * 1088), narrow(4 * 576);
  eight.encode(values, 0, pages);
  four.encode(values, 0, narrow);
  EXPECT_EQ(u8(pages[17]), 127);
  EXPECT_EQ(u8(pages[64 + 17 * 16 + 1]), 0x80 | 96);
  EXPECT_EQ(u8(narrow[17]), 127);
  EXPECT_EQ(u8(narrow[64 + 17 * 8]), (8 | 6) << 4);
  EXPECT_EQ(u8(pages[3 * 1088]), 129);
  EXPECT_EQ(u8(pages[3 * 1088 + 64 + 7]), 64);
  EXPECT_EQ(std::count(pages.begin(), pages.end(), std::byte{0}), 4 * 1088 - 4) << "padding and zeros";
  eight.decode(pages, 0, back);
  EXPECT_EQ(back, values);
  four.decode(narrow, 0, back);
  EXPECT_EQ(back, values);
}

}  // namespace
}  // namespace baretile
