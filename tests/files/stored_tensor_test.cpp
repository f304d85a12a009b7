#include "files/stored_tensor.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "models/support.h"

namespace baretile {
namespace {

StoredTensor tensor_of(StoredType type, std::vector<u64> shape, const std::string& bytes) {
  return {type, std::move(shape), std::as_bytes(std::span(bytes.data(), bytes.size()))};
}

TEST(StoredTensor, ReadsQuantisedBlocksAsTheGgufPackageDoes) {
  for (StoredType type : {StoredType::q8_0, StoredType::q4_0, StoredType::q4_1}) {
    const auto& vector = vectors()["quants"][stored_type_info(type).name];
    const std::string bytes = unhex(vector["bytes"]);
    const StoredTensor tensor = tensor_of(type, {3, 64}, bytes);  // six blocks
    ASSERT_EQ(tensor.rows(), 3u);
    std::vector<float> all(192), row(64);
    read_rows(tensor, 0, all);
    for (size_t i = 0; i < all.size(); ++i) {
      const float expected =
          std::bit_cast<float>(static_cast<u32>(std::stoul(vector["floats"][i].get<std::string>(), nullptr, 16)));
      ASSERT_EQ(all[i], expected) << stored_type_info(type).name << " element " << i;
    }
    read_rows(tensor, 2, row);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), all.begin() + 128));
    std::vector<u16> words(128);
    read_rows_bf16(tensor, 1, words);
    for (size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], float_to_bf16(all[64 + i]));
  }
}

TEST(StoredTensor, ReadsPlainTypes) {
  std::vector<float> values(6);
  const std::string f32 = raw(1.5f) + raw(-0.1f) + raw(3e38f) + raw(1e-40f) + raw(0.0f) + raw(-2.0f);
  read_rows(tensor_of(StoredType::f32, {2, 3}, f32), 0, values);
  EXPECT_THAT(values, testing::ElementsAre(1.5f, -0.1f, 3e38f, 1e-40f, 0.0f, -2.0f));
  std::string words;
  for (u16 word : {0x3FC0, 0x8000, 0x7F7F, 0xC040, 0x0001, 0x7F80}) words += raw(word);
  read_rows(tensor_of(StoredType::bf16, {6}, words), 0, values);
  EXPECT_THAT(values,
              testing::ElementsAre(1.5f, -0.0f, std::ldexp(255.0f, 120), -3.0f, std::ldexp(1.0f, -133), INFINITY));
}

TEST(StoredTensor, ReadsEveryHalfPrecisionNumber) {
  // IEEE 754 binary16 by its definition, in double.
  for (u32 word = 0; word < 0x10000; ++word) {
    const int exponent = word >> 10 & 31, fraction = word & 0x3FF;
    double expected = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) expected = fraction ? NAN : INFINITY;
    if (word & 0x8000) expected = -expected;
    const std::string bytes = raw(static_cast<u16>(word));
    float value = 0;
    read_rows(tensor_of(StoredType::f16, {1}, bytes), 0, std::span(&value, 1));
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(value) : value == expected) << std::hex << word;
    ASSERT_EQ(std::signbit(value), (word & 0x8000) != 0) << std::hex << word;
  }
}

TEST(StoredTensor, RoundsToBf16AsNumPyDoes) {
  for (const auto& pair : vectors()["bf16"]) {
    const u32 from = pair[0];
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(from)), pair[1].get<u16>()) << std::hex << from;
  }
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0xFFFFFFFFu)))));
}

TEST(StoredTensor, RefusesRowsOutsideTheTensor) {
  const std::string bytes(24, '\0');
  const StoredTensor tensor = tensor_of(StoredType::f32, {2, 3}, bytes);
  std::vector<float> rows(6);
  EXPECT_THROW(read_rows(tensor, 1, rows), InternalError);
  EXPECT_THROW(read_rows(tensor, std::numeric_limits<u64>::max(), rows), InternalError);
  EXPECT_THROW(read_rows(tensor, 0, std::span(rows).first(4)), InternalError);
}

}  // namespace
}  // namespace baretile
