#include "sim/tensix/fpu_avx2.h"

#include "sim/math_replay.h"

namespace baretile::sim {
namespace {

using ref::DstKind;

// Random bits with exponents around each other, some zeros, some rows of zeros.
struct RandomState {
  explicit RandomState(u32 seed) : random(seed), half(random.one_in(3)) {
    const u32 low = random.pick({1, 100, 200}), range = random.pick({8, 54});
    const auto datum = [&] {
      const u32 exponent = random.one_in(6) ? 0 : half ? random.below(32) : low + random.below(range);
      return (random.word() & 0x7FF00) | exponent;
    };
    for (u32 r = 0; r < kSrcRows; r++)
      for (u32 c = 0; c < kColumns; c++) {
        state->src_a[0].rows[r][c] = datum();
        state->src_b[0].rows[r][c] = r % 3 == 1 ? 0 : datum();
      }
    for (auto& row : state->dst.rows)
      for (u16& v : row) v = u16((random.word() & 0xFF00) | (random.one_in(8) ? 0 : low + random.below(range)));
  }
  diff::Random random;
  bool half;
  std::unique_ptr<State> state = std::make_unique<State>();
  ref::Style style() const { return {half, ref::Style::kAllBits, half ? ref::Style::kAllBits : ref::Style::kBf16Bits}; }
};

void expect_same(const Dst& fast, const Dst& reference, const std::string& what) {
  for (u32 r = 0; r < kDstRows; r++)
    for (u32 c = 0; c < kColumns; c++)
      ASSERT_EQ(fast.rows[r][c], reference.rows[r][c]) << what << ", 16-bit row " << r << ", column " << c;
}

TEST(FpuAvx2, ProductsEqualTheReference) {
  if (!avx2_available()) GTEST_SKIP() << "no AVX2 on this host";
  for (u32 seed = 1; seed <= 60; seed++) {
    RandomState x(seed);
    State& s = *x.state;
    Dst reference = s.dst;
    for (const DstKind kind : {DstKind::fp32, DstKind::bf16, DstKind::fp16})
      for (u32 phase = 0; phase < 4; phase++) {
        const u32 row_a = 16 * x.random.below(4), row_b = 8 * x.random.below(8), dst = 8 * x.random.below(32);
        SrcASlices& a = s.slices_a[0][phase & 1];
        SrcBSlices& b = s.slices_b[0][phase >> 1];
        for (u32 r : {row_a, row_a + 8}) refresh_avx2(a, s.src_a[0], r, x.style(), phase & 1);
        refresh_avx2(b, s.src_b[0], row_b, x.style(), phase & 2);
        multiply_avx2(s.dst, dst, kind, a, row_a, b, row_b, 8, x.half, phase);
        for (u32 r = dst; r < dst + 8; r++)
          kind == DstKind::fp32 ? reference.set_valid(Dst::high_row(r)) : reference.set_valid(r);
        ref::multiply(reference, dst, kind, s.src_a[0], row_a, s.src_b[0], row_b, 8, x.style(), phase);
        expect_same(s.dst, reference, "seed " + std::to_string(seed) + " phase " + std::to_string(phase));
      }
  }
}

TEST(FpuAvx2, ElementwiseEqualsTheReference) {
  if (!avx2_available()) GTEST_SKIP() << "no AVX2 on this host";
  for (u32 seed = 100; seed < 160; seed++) {
    RandomState x(seed);
    State& s = *x.state;
    Dst reference = s.dst;
    for (const DstKind kind : {DstKind::fp32, DstKind::bf16, DstKind::fp16})
      for (const ref::Elementwise op : {ref::Elementwise::add, ref::Elementwise::sub, ref::Elementwise::mul}) {
        const u32 phase = op == ref::Elementwise::mul ? x.random.below(4) : 0, row = x.random.below(64),
                  dst = x.random.below(256);
        const ref::RowPair rows{s.src_a[0].rows[row], s.src_b[0].rows[x.random.below(64)], x.random.one_in(2)};
        elementwise_avx2(s.dst, dst, kind, op, rows, x.style(), phase);
        ref::elementwise(reference, dst, kind, op, rows, x.style(), phase);
        expect_same(s.dst, reference, "seed " + std::to_string(seed));
      }
  }
}

TEST(FpuAvx2, SlicesFollowTheBank) {
  if (!avx2_available()) GTEST_SKIP() << "no AVX2 on this host";
  auto s = std::make_unique<State>();
  SrcASlices& slices = s->slices_a[0][0];
  refresh_avx2(slices, s->src_a[0], 8, {}, false);
  EXPECT_EQ(slices.ready, 1u << 1);
  s->src_a[0].rows[8][3] = src_of_fp32(bits_of(-1.5f));
  s->src_a[0].touch();
  refresh_avx2(slices, s->src_a[0], 8, {}, false);
  EXPECT_EQ(slices.slice[8][3], -2 * 0x18);
  EXPECT_EQ(slices.exponent[8][3], 127);
}

}  // namespace
}  // namespace baretile::sim
