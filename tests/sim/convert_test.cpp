#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "sim/tensix/float_bits.h"
#include "sim/tensix/unpacker.h"

namespace baretile::sim {
namespace {

using isa::Format;

template <class T>
std::vector<u32> converted(Format in, Format out, const std::vector<T>& data, bool to_dst = false) {
  std::vector<u32> result(data.size());
  convert(conversion_of(in, out, to_dst, false),
          {reinterpret_cast<const u8*>(data.data()), nullptr, 0, u32(data.size())}, result.data());
  return result;
}

std::vector<u16> every16() {
  std::vector<u16> all(65536);
  for (u32 i = 0; i < 65536; i++) all[i] = u16(i);
  return all;
}

// Sign, mantissa, exponent of Src written as the page's WriteSrcTF32 does it.
u32 write_src_tf32(u32 x) { return (x & 0x40000) | (x & 0x3FF) << 8 | (x & 0x3FC00) >> 10; }

TEST(Convert, MovesEveryBf16AndFp16BitIntoSrc) {
  const auto all = every16();
  const auto bf16 = converted(Format::bf16, Format::bf16, all), fp16 = converted(Format::fp16, Format::fp16, all);
  for (u32 v = 0; v < 65536; v++) {
    ASSERT_EQ(bf16[v], write_src_tf32(v << 3)) << v;
    ASSERT_EQ(fp16[v], write_src_tf32((v & 0x8000) << 3 | (v & 0x7FFF))) << v;
  }
}

TEST(Convert, TruncatesFp32AndFlushesItsDenormalsToBf16) {
  const std::vector<u32> in = {0x3F80FFFF, 0xBFFFFFFF, 0x007FFFFF, 0x807FFFFF, 0x7F800001, 0};
  EXPECT_EQ(converted(Format::fp32, Format::bf16, in),
            (std::vector<u32>{0x7F, 0x40000 | 0x7F << 11 | 0x7F, 0, 0x40000, 0xFF, 0}));
  EXPECT_EQ(converted(Format::fp32, Format::tf32, in)[1], 0x40000u | 0x3FF << 8 | 0x7F);
  EXPECT_EQ(converted(Format::fp32, Format::tf32, in)[2], 0x3FFu << 8);
}

// The page's BFP8ToBF16, datum by datum.
u32 bf16_of_bfp8(u8 datum, u8 exponent) {
  const u32 sign = datum >> 7;
  u8 magnitude = u8(datum << 1);
  if (!magnitude) return sign ? 0xFF80 : 0;
  while (!(magnitude & 0x80)) magnitude = u8(magnitude << 1), exponent--;
  return sign << 15 | u32{exponent} << 7 | (magnitude & 0x7E);
}

TEST(Convert, ReadsBlockFloatsOfEveryWidthFromAnyDatum) {
  std::vector<u8> data(256), exponents(64);
  for (u32 i = 0; i < 256; i++) data[i] = u8(i * 37 + 11);
  for (u32 i = 0; i < 64; i++) exponents[i] = u8(i * 83);
  for (auto [format, bits] : {std::pair{Format::bfp8, 8u}, {Format::bfp4, 4u}, {Format::bfp2, 2u}})
    for (u32 first : {0u, 5u, 16u, 21u})
      for (u32 count : {1u, 16u, 20u, 100u}) {
        std::vector<u32> out(count);
        convert(conversion_of(format, format, false, false),
                {data.data() + first * bits / 8, exponents.data(), first, count}, out.data());
        for (u32 i = 0; i < count; i++) {
          const u32 bit = (first + i) * bits;
          const u8 datum = u8(data[bit / 8] >> bit % 8 << (8 - bits));
          ASSERT_EQ(out[i], write_src_tf32(bf16_of_bfp8(datum, exponents[(first + i) / 16]) << 3))
              << bits << ' ' << first << ' ' << i;
        }
      }
}

TEST(Convert, KnowsWhatTtsimCanUnpack) {
  u32 to_src = 0, to_dst = 0;
  for (u32 in = 0; in < 16; in++)
    for (u32 out = 0; out < 16; out++) {
      to_src += conversion_of(Format(in), Format(out), false, false) != Conversion::none;
      to_dst += conversion_of(Format(in), Format(out), true, false) != Conversion::none;
    }
  EXPECT_EQ(to_src, 11u);
  EXPECT_EQ(to_dst, 3u);
}

TEST(Convert, SaturatesFp16) {
  EXPECT_EQ(fp16_of_fp32(0x47FFE000), 0x7BFFu | 0x400);  // exponent 31 is an ordinary one
  EXPECT_EQ(fp16_of_fp32(0xC8000000), 0xFFFFu);
  EXPECT_EQ(fp16_of_fp32(0x387FE000), 0x03FFu);  // 2^-15 … 2^-14 keeps its mantissa
  EXPECT_EQ(fp16_of_fp32(0xB77FFFFF), 0x8000u);
}

}  // namespace
}  // namespace baretile::sim
