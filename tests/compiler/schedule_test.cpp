#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

TEST(Schedule, EqualKernelsAreOneAndTemporariesShareTheArena) {
  Tensor x = input({64, 64}), w = input({64, 64});
  for (int n = 0; n < 20; ++n) x = relu(matmul(x, w)) + 1;
  Result r = checked({x}, 1e-3);
  EXPECT_EQ(r.schedule.launches.size(), 20u);
  EXPECT_EQ(r.schedule.kernels.size(), 1u);
  EXPECT_EQ(r.schedule.arena_bytes, 2u * 4 * 4096);  // four pages are one run in one bank; two values alive
}

TEST(Schedule, ConstantsOfOneKernelAreEqualBitByBit) {
  const auto constant = [](double value) {
    Step step;
    step.kind = StepKind::constant;
    step.value = value;
    return step;
  };
  EXPECT_NE(constant(0.0), constant(-0.0));
  EXPECT_EQ(constant(std::nan("")), constant(std::nan("")));
}

TEST(Schedule, NoTwoLivingTemporariesOverlap) {
  for (u32 seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    std::vector<Tensor> pool = {input({33, 64}), input({64, 64})};
    for (int n = 0; n < 30; ++n) {
      i64 rows = i64(1 + random() % 3) * 33;
      Tensor x = pool[random() % pool.size()];
      pool.push_back(matmul(x, input({x.size(-1), rows})) * 0.01f);
    }
    Tensor total = sum(sum(pool.back(), 0, true), 1, true);
    for (const Tensor& x : pool) total = total + sum(sum(x, 0, true), 1, true);
    checked({total}, 1e-3);
  }
}

TEST(Schedule, AWriteInPlaceRunsAfterTheReadersOfTheOldValueAndBeforeThoseOfTheNew) {
  Tensor cache = input({1, 32, 64}), index = input({3}, DType::int32);
  Tensor late = matmul(input({5, 64}), cache.transpose());  // reads the old value, recorded before the write
  cache.assign_rows(index, input({1, 3, 64}));
  Result r = checked({matmul(input({5, 64}), cache.transpose()), late, cache});
  EXPECT_EQ(r.copies(), 0u);
  ASSERT_EQ(r.schedule.launches.size(), 3u);
  EXPECT_EQ(r.schedule.kernels[r.schedule.launches[1].kernel].kind, KernelKind::move) << to_string(r.schedule);
}

TEST(Schedule, ExternalsKeepTheirNumbersAndOutputsFollow) {
  Result r = scheduled({input({4, 4}) + input({4, 4}), relu(input({5, 5}))});
  EXPECT_EQ(output_slots(r.plan), (std::vector<u32>{3, 4}));
}

}  // namespace
}  // namespace baretile::compiler::test
