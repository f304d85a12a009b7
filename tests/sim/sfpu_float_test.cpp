#include <cmath>

#include "sim/math_replay.h"
#include "sim/tensix/sfpu.h"
#include "sim/tensix/sfpu_fma.h"

namespace baretile::sim {
namespace {

constexpr u32 kInfinity = 0x7F800000, kNan = 0x7FC00000, kSign = 0x80000000;

template <class Insn>
u32 after(const Insn& insn, u32 c) {
  auto s = std::make_unique<State>();
  s->sfpu.lreg[0] = splat(c);
  exec(*s, kNone, insn);
  return s->sfpu.lreg[2][29];
}

TEST(SfpuFma, RoundsSumsAndProductsToNearestEven) {
  diff::Random r(3);
  for (u32 i = 0; i < 100000; i++) {  // normal numbers far from the ends: a lone sum or product is IEEE's
    const u32 a = (r.word() & 0x807FFFFF) | (100 + r.below(50)) << 23, b = (r.word() & 0x807FFFFF) | (100 + r.below(50))
                                                                                                         << 23;
    ASSERT_EQ(fma_bits(a, bits_of(1.0f), b), bits_of(float_of(a) + float_of(b))) << std::hex << a << " + " << b;
    ASSERT_EQ(fma_bits(a, b, kSign), bits_of(float_of(a) * float_of(b))) << std::hex << a << " * " << b;
  }
}

TEST(SfpuFma, HandlesSpecialValuesAsThePageSays) {
  const u32 one = bits_of(1.0f), max = 0x7F7FFFFF, two = bits_of(2.0f);
  EXPECT_EQ(fma_bits(kInfinity, 0, one), kNan);
  EXPECT_EQ(fma_bits(kInfinity, one, kInfinity | kSign), kNan);
  EXPECT_EQ(fma_bits(0xFFC12345, one, one), kNan);
  EXPECT_EQ(fma_bits(max, two, max | kSign), kInfinity);  // the product alone overflows
  EXPECT_EQ(fma_bits(max, two, kInfinity | kSign), kInfinity | kSign);
  EXPECT_EQ(fma_bits(0x00FFFFFE, 0x3F000000, 0), 0u);            // a denormal result,
  EXPECT_EQ(fma_bits(0x00FFFFFF, 0x3F000000, 0), 0x00800000u);   // unless rounding lifts it
  EXPECT_EQ(fma_bits(0x007FFFFF, bits_of(0x1p100f), one), one);  // a denormal operand
  EXPECT_EQ(fma_bits(kSign, one, kSign), kSign);                 // (-0) + (-0)
  EXPECT_EQ(fma_bits(one, one, bits_of(-1.0f)), 0u);
}

TEST(SfpuFma, TheProductIsNotKeptWhole) {
  // x * x - 1 with x = 1 + 2^-23: a fused operation gives 2^-22 + 2^-46; here the last bit of the product is only
  // sticky.
  const u32 x = bits_of(1.0f + 0x1p-23f);
  EXPECT_EQ(fma_bits(x, x, bits_of(-1.0f)), bits_of(0x1p-22f + 0x1p-26f));
  EXPECT_NE(fma_bits(x, x, bits_of(-1.0f)), bits_of(std::fma(float_of(x), float_of(x), -1.0f)));
}

TEST(SfpuFloat, ReciprocalComesFromTheTable) {
  EXPECT_EQ(after(isa::SFPARECIP{.VD = 2}, bits_of(1.0f)), bits_of(0.99609375f));  // SFPARECIP.md
  EXPECT_EQ(after(isa::SFPARECIP{.VD = 2}, 0x80000001), kInfinity | kSign);
  EXPECT_EQ(after(isa::SFPARECIP{.VD = 2}, 0x7E800000), 0u);
  for (float x = 0.01f; x < 100; x *= 1.37f)
    EXPECT_NEAR(float_of(after(isa::SFPARECIP{.VD = 2}, bits_of(x))) * x, 1.0, 0.0056);
}

TEST(SfpuFloat, RoundsToBf16TiesAway) {
  const isa::SFP_STOCH_RND to_bf16{.Mod1 = 1, .VD = 2};
  EXPECT_EQ(after(to_bf16, 0x3F808000), 0x3F810000u);
  EXPECT_EQ(after(to_bf16, 0xBF807FFF), 0xBF800000u);
  EXPECT_EQ(after(to_bf16, 0x80000000), 0u);
  EXPECT_EQ(after(to_bf16, 0xFFC00000), 0xFF800000u);
}

TEST(SfpuFloat, RoundsToClampedIntegers) {
  EXPECT_EQ(after(isa::SFP_STOCH_RND{.Mod1 = 7, .VD = 2}, bits_of(-2.5f)), kSign | 3);
  EXPECT_EQ(after(isa::SFP_STOCH_RND{.Mod1 = 7, .VD = 2}, bits_of(-0.25f)), 0u);
  EXPECT_EQ(after(isa::SFP_STOCH_RND{.Mod1 = 7, .VD = 2}, bits_of(1e9f)), 32767u);
  EXPECT_EQ(after(isa::SFP_STOCH_RND{.Mod1 = 3, .VD = 2}, bits_of(-500.0f)), kSign | 127);
  EXPECT_EQ(after(isa::SFP_STOCH_RND{.Mod1 = 2, .VD = 2}, bits_of(-254.5f)), 255u);
  EXPECT_EQ(after(isa::SFP_STOCH_RND{.Mod1 = 6, .VD = 2}, bits_of(65535.4f)), 65535u);
}

TEST(SfpuFloat, CastsIntegers) {
  for (i32 x : {0, 1, 3, 16777217, 16777219, 0x7FFFFFFF})
    EXPECT_EQ(after(isa::SFPCAST{.VD = 2}, u32(x)), bits_of(float(x)));
  EXPECT_EQ(after(isa::SFPCAST{.VD = 2}, kSign | 12), bits_of(-12.0f));
  EXPECT_EQ(after(isa::SFPCAST{.Mod1 = 3, .VD = 2}, kSign | 12), u32(-12));
  EXPECT_EQ(after(isa::SFPCAST{.Mod1 = 3, .VD = 2}, u32(-12)), kSign | 12);
}

TEST(SfpuFloat, TablesEvaluatePiecewiseLinearFunctions) {
  auto s = std::make_unique<State>();
  s->sfpu.lreg[1] = splat(0x10 << 8 | 0x08);  // 0.5 * |x| + 1.5 for 1 <= |x| < 2
  s->sfpu.lreg[3] = splat(bits_of(-1.5f));
  exec(*s, kNone, isa::SFPLUT{.Mod0 = 4, .VD = 2});
  EXPECT_EQ(s->sfpu.lreg[2][0], bits_of(-(0.5f * 1.5f + 1.5f)));
  s->sfpu.lreg[1] = splat(0x4000u << 16 | 0x3C00);  // 2.0 for |x| >= 1.5
  s->sfpu.lreg[5] = splat(0x3800u << 16);           // 0.5
  exec(*s, kNone, isa::SFPLUTFP32{.Mod1 = 2, .VD = 2});
  EXPECT_EQ(s->sfpu.lreg[2][0], bits_of(2.0f * 1.5f + 0.5f));
}

TEST(SfpuFloat, RefusesWhatTtsimRefuses) {
  auto s = std::make_unique<State>();
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFPMAD{.Mod1 = 4}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFPADD{.VB = 1, .VA = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFPMUL{.VC = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFPARECIP{.Mod1 = 2}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFPCAST{.Mod1 = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFP_STOCH_RND{.Mod1 = 1, .RndMode = 1}), FaultKind::not_modelled);
  EXPECT_EQ(kind_of_fault(*s, kNone, isa::SFPLUTFP32{.Mod1 = 0}), FaultKind::not_modelled);
}

}  // namespace
}  // namespace baretile::sim
