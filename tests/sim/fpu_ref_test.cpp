#include "sim/tensix/fpu_ref.h"

#include "sim/math_replay.h"

namespace baretile::sim {
namespace {

using ref::DstKind;

u32 add_to(float dst, const ref::Term& group) {
  return ref::accumulate(bits_of(dst), DstKind::fp32, std::array{group});
}
ref::Term term(float a, float b, u32 phase) {
  return ref::product(src_of_fp32(bits_of(a)), src_of_fp32(bits_of(b)), false, phase);
}

TEST(FpuRef, MatchesTtsimOnRecordedProducts) { expect_recorded_products(nullptr); }

TEST(FpuRef, ProgramsLeaveWhatTtsimLeft) { replay(diff::fpu_case, "fpu.bin", nullptr); }

TEST(FpuRef, FourPhasesOfBf16GiveTheExactProduct) {
  const float a = 1.9921875f, b = -1.6484375f;  // eight significant bits each
  float dst = 0;
  for (u32 phase = 0; phase < 4; phase++)
    dst = float_of(add_to(dst, ref::sum(std::array{term(a, b, phase)}, DstKind::fp32)));
  EXPECT_EQ(dst, a * b);
}

TEST(FpuRef, AZeroSliceOfALargeNumberWipesASmallDst) {
  // 2^32 has no low mantissa bits, so its phase 1 product is 0, but its exponent still aligns Dst out of sight.
  EXPECT_EQ(add_to(1.0f, ref::sum(std::array{term(4294967296.0f, 1.0f, 1)}, DstKind::fp32)), 0u);
}

TEST(FpuRef, ZeroAndDenormalOperandsAreDropped) {
  EXPECT_EQ(add_to(0.75f, ref::sum(std::array{term(0.0f, 3.0f, 0)}, DstKind::fp32)), bits_of(0.75f));
  EXPECT_EQ(add_to(0.75f, ref::sum(std::array{term(float_of(0x007FE000), 3.0f, 0)}, DstKind::fp32)), bits_of(0.75f));
}

TEST(FpuRef, DenormalDstAndNegativeZeroBecomeZero) {
  EXPECT_EQ(ref::accumulate(0x80000000, DstKind::fp32, {}), 0u);
  EXPECT_EQ(ref::accumulate(0x00400000, DstKind::fp32, {}), 0u);
  EXPECT_EQ(ref::accumulate(0xFF812345, DstKind::fp32, {}), 0xFF800000u);
}

TEST(FpuRef, OverflowIsInfinityExceptInFp16) {
  const ref::Term huge{1 << 10, 300};
  EXPECT_EQ(ref::accumulate(0, DstKind::fp32, std::array{huge}), 0x7F800000u);
  EXPECT_EQ(ref::accumulate(0, DstKind::bf16, std::array{huge}), 0x7F80u);
  EXPECT_EQ(ref::accumulate(0, DstKind::fp16, std::array{huge}), 0x7FFFu);
}

TEST(FpuRef, Bf16DstRoundsTiesAwayFromZero) {
  const u32 one = 0x3F80;  // 1.0; half a unit in the last place is 2^-8
  const ref::Term half_ulp{1 << 10, 127 - 8};
  EXPECT_EQ(ref::accumulate(one, DstKind::bf16, std::array{half_ulp}), one + 1);
  EXPECT_EQ(ref::accumulate(one | 0x8000, DstKind::bf16, std::array{ref::Term{-(1 << 10), 127 - 8}}),
            (one + 1) | 0x8000);
}

}  // namespace
}  // namespace baretile::sim
