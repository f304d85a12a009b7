#include "sim/tensix/fpu_simd.h"

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

class FpuSimd : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override {
    if (best_simd() < GetParam()) GTEST_SKIP() << "no " << name({GetParam(), 0}) << " on this host";
  }
  const FpuKernels& kernels() const { return GetParam() == Simd::avx512 ? kAvx512Kernels : kAvx2Kernels; }

 public:
  static std::string name(const testing::TestParamInfo<Simd>& info) {
    return info.param == Simd::avx512 ? "Avx512" : "Avx2";
  }
};
INSTANTIATE_TEST_SUITE_P(Vectors, FpuSimd, testing::Values(Simd::avx2, Simd::avx512), FpuSimd::name);

TEST_P(FpuSimd, MatchesTtsimOnRecordedProducts) { expect_recorded_products(&kernels()); }

TEST_P(FpuSimd, ProgramsLeaveWhatTtsimLeft) { replay(diff::fpu_case, "fpu.bin", &kernels()); }

TEST_P(FpuSimd, ProductsEqualTheReference) {
  for (u32 seed = 1; seed <= 60; seed++) {
    RandomState x(seed);
    State& s = *x.state;
    Dst reference = s.dst;
    for (const DstKind kind : {DstKind::fp32, DstKind::bf16, DstKind::fp16})
      for (u32 phase = 0; phase < 4; phase++) {
        const u32 row_a = 16 * x.random.below(4), row_b = 8 * x.random.below(8), dst = 8 * x.random.below(32);
        SrcASlices& a = s.slices_a[0][phase & 1];
        SrcBSlices& b = s.slices_b[0][phase >> 1];
        kernels().slice_a(a, s.src_a[0], row_a, x.style(), phase & 1);
        kernels().slice_b(b, s.src_b[0], row_b, x.style(), phase & 2);
        const i32 floor = ref::zero_exponent(x.half, phase);
        const u32 live = u32(b.live_rows >> row_b) & 0xFF,
                  taken = live | x.random.below(256);  // some rows of zeros too
        kernels().multiply[u32(kind)](s.dst, dst, a, row_a, b, row_b, taken, floor);
        for (u32 i = 0; i < 8; i++)
          if (!(taken >> i & 1)) kernels().add_nothing[u32(kind)](s.dst, dst + i, floor);
        for (u32 r = dst; r < dst + 8; r++)
          kind == DstKind::fp32 ? reference.set_valid(Dst::high_row(r)) : reference.set_valid(r);
        ref::multiply(reference, dst, kind, s.src_a[0], row_a, s.src_b[0], row_b, 8, x.style(), phase);
        expect_same(s.dst, reference, "seed " + std::to_string(seed) + " phase " + std::to_string(phase));
      }
  }
}

TEST_P(FpuSimd, ElementwiseEqualsTheReference) {
  for (u32 seed = 100; seed < 160; seed++) {
    RandomState x(seed);
    State& s = *x.state;
    Dst reference = s.dst;
    for (const DstKind kind : {DstKind::fp32, DstKind::bf16, DstKind::fp16})
      for (const ref::Elementwise op : {ref::Elementwise::add, ref::Elementwise::sub, ref::Elementwise::mul}) {
        const u32 phase = op == ref::Elementwise::mul ? x.random.below(4) : 0, row = x.random.below(64),
                  dst = x.random.below(256);
        const ref::RowPair rows{s.src_a[0].rows[row], s.src_b[0].rows[x.random.below(64)], x.random.one_in(2)};
        kernels().elementwise[u32(kind)](s.dst, dst, op, rows, x.style(), phase);
        ref::elementwise(reference, dst, kind, op, rows, x.style(), phase);
        expect_same(s.dst, reference, "seed " + std::to_string(seed));
      }
  }
}

TEST_P(FpuSimd, SlicesFollowTheBank) {
  auto s = std::make_unique<State>();
  SrcASlices& slices = s->slices_a[0][0];
  const ref::Style style;
  kernels().slice_a(slices, s->src_a[0], 16, style, false);
  EXPECT_TRUE(slices.hold(s->src_a[0], 16, style.word_a()));
  EXPECT_FALSE(slices.hold(s->src_a[0], 0, style.word_a()));
  EXPECT_FALSE(slices.hold(s->src_a[0], 16, ref::Style{.half = true}.word_a()));
  s->src_a[0].rows[25][3] = src_of_fp32(bits_of(-1.5f));
  s->src_a[0].touch();
  EXPECT_FALSE(slices.hold(s->src_a[0], 16, style.word_a()));
  kernels().slice_a(slices, s->src_a[0], 16, style, false);
  EXPECT_EQ(slices.slice[9][3][1], -2 * 0x18);
  EXPECT_EQ(slices.exponent[9][3][1], 127);
}

}  // namespace
}  // namespace baretile::sim
