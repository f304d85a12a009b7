#include "tensor/format.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace baretile {
namespace {

std::vector<std::byte> encoded(const PageFormat& format, const std::vector<float>& values) {
  std::vector<std::byte> pages(format.pages() * format.page_bytes(), std::byte{0xEE});
  format.encode(values, 0, pages);
  return pages;
}

// From ml_dtypes 0.3: np.array(x, np.float32).astype(ml_dtypes.bfloat16).view(np.uint16).
TEST(Format, Bf16RoundsToNearestEven) {
  EXPECT_EQ(bf16_from_float(1.0f), 0x3F80);
  EXPECT_EQ(bf16_from_float(1.00390625f), 0x3F80);  // halfway: to even
  EXPECT_EQ(bf16_from_float(1.01171875f), 0x3F82);  // halfway: to even
  EXPECT_EQ(bf16_from_float(1.00390637f), 0x3F81);
  EXPECT_EQ(bf16_from_float(-3.14159274f), 0xC049);
  EXPECT_EQ(bf16_from_float(3.3895315e38f), 0x7F7F);  // the largest bf16
  EXPECT_EQ(bf16_from_float(3.4e38f), 0x7F80);        // rounds to infinity
  EXPECT_EQ(bf16_from_float(1e-40f), 0x0001);
  EXPECT_EQ(bf16_from_float(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0x7F800001u)))));
}

TEST(Format, EveryBf16SurvivesTheWayThroughFloat) {
  for (u32 bits = 0; bits < 0x10000; ++bits) {
    float value = float_from_bf16(u16(bits));
    ASSERT_TRUE(std::isnan(value) || bf16_from_float(value) == bits) << bits;
  }
}

TEST(Format, ATileIsFourFacesRowMajor) {
  std::vector<float> values(32 * 32);
  std::iota(values.begin(), values.end(), 0.0f);
  PageFormat format({32, 32}, DType::fp32);
  auto pages = encoded(format, values);
  const float* stored = reinterpret_cast<const float*>(pages.data());
  EXPECT_EQ(stored[0], 0);
  EXPECT_EQ(stored[16], 32);        // second row of the first face
  EXPECT_EQ(stored[256], 16);       // first row of the second face
  EXPECT_EQ(stored[512], 16 * 32);  // third face: row 16
  EXPECT_EQ(stored[768 + 17], 17 * 32 + 17);
}

TEST(Format, AMatrixOfOneRowTakesPagesOf32Values) {
  PageFormat format({1, 40}, DType::bf16);
  EXPECT_EQ(format.pages(), 2u);
  EXPECT_EQ(format.page_bytes(), 64u);
  auto pages = encoded(format, std::vector<float>(40, 2.0f));
  const u16* stored = reinterpret_cast<const u16*>(pages.data());
  EXPECT_EQ(stored[39], 0x4000);
  EXPECT_EQ(stored[40], 0);
}

TEST(Format, OddShapesComeBackAndPaddingIsZero) {
  for (const compiler::Shape& shape : {compiler::Shape{3, 37, 45}, {70}, {}, {2, 3, 1, 33}, {33, 1}, {5, 16, 16}}) {
    PageFormat format(shape, DType::fp32);
    std::vector<float> values(size_t(compiler::element_count(shape))), back(values.size());
    std::iota(values.begin(), values.end(), 1.0f);
    auto pages = encoded(format, values);
    format.decode(pages, 0, back);
    EXPECT_EQ(back, values);
    size_t filled = 0;
    for (size_t i = 0; i < pages.size() / 4; ++i) filled += reinterpret_cast<const float*>(pages.data())[i] != 0;
    EXPECT_EQ(filled, values.size());
  }
}

TEST(Format, PagesCanBeConvertedAFewAtATime) {
  const compiler::Shape shape = {2, 70, 70};
  PageFormat format(shape, DType::int32);
  std::vector<i32> values(size_t(compiler::element_count(shape))), back(values.size());
  std::iota(values.begin(), values.end(), -5000);
  std::vector<std::byte> page(format.page_bytes());
  for (u64 p = 0; p < format.pages(); ++p) {
    format.encode(std::span<const i32>(values), p, page);
    format.decode(page, p, std::span<i32>(back));
  }
  EXPECT_EQ(back, values);
}

}  // namespace
}  // namespace baretile
