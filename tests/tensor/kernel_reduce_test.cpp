#include "tensor/kernel_run.h"

namespace baretile::kernel_test {
namespace {

class ReduceKernel : public KernelTest {};
ON_EACH_SIMULATOR(ReduceKernel);

TEST_P(ReduceKernel, NormalisesRowsByTheirMeanSquare) {
  for (const u32 rows : {1u, 32u, 45u})
    for (const u32 cols : {64u, 75u}) {
      const Tiling tiling = rows == 1 ? row : tile;
      Case c(fmt::format("rmsnorm_{}_{}", rows, cols), 1, rows, cols, ReduceAxis::cols);
      const u32 x = c.load(random_matrix(1, rows, cols, fp32, tiling, 1)),
                weight = c.load(random_matrix(1, 1, cols, bf16, row, 2));
      const u32 mean = c.op("mul", {c.reduce("sum", c.op("mul", {x, x})), c.constant(1.0f / float(cols))});
      const u32 y = c.op("mul", {c.op("mul", {x, c.op("rsqrt", {c.op("add", {mean, c.constant(1e-5f)})})}), weight});
      c.output(y, fp32, tiling);
      c.output(y, fp32, split);
      expect_outputs(c, {.relative = 1e-6});
    }
}

TEST_P(ReduceKernel, MakesASoftmaxInOneKernel) {
  for (const u32 rows : {1u, 33u})
    for (const u32 cols : {64u, 75u}) {
      const Tiling tiling = rows == 1 ? row : tile;
      Case c(fmt::format("softmax_{}_{}", rows, cols), 2, rows, cols, ReduceAxis::cols);
      const u32 x = c.load(random_matrix(2, rows, cols, fp32, tiling, 1, -5, 5));
      const u32 e = c.op("exp", {c.op("sub", {x, c.reduce("max", x)})});
      c.output(c.op("mul", {e, c.op("reciprocal", {c.reduce("sum", e)})}), fp32, tiling);
      expect_outputs(c, {.relative = 1e-6});
    }
}

TEST_P(ReduceKernel, FoldsColumnsAfterAnExpressionAndGoesOnWithAnother) {
  for (const u32 rows : {1u, 45u, 64u})
    for (const u32 cols : {40u, 64u}) {
      const Tiling tiling = rows == 1 ? row : tile;
      Case c(fmt::format("columns_{}_{}", rows, cols), 1, rows, cols, ReduceAxis::cols);
      const u32 e = c.op("exp", {c.load(random_matrix(1, rows, cols, fp32, tiling, 1))});
      const u32 sum = c.reduce("sum", e), largest = c.reduce("max", c.op("neg", {e}));
      c.output(c.op("add", {sum, c.constant(3)}), fp32, tiling, true);
      c.output(largest, fp32, tiling, true);
      expect_outputs(c, {.relative = 1e-6});
    }
}

TEST_P(ReduceKernel, FoldsRows) {
  for (const u32 rows : {45u, 64u})
    for (const u32 cols : {40u, 64u}) {
      Case c(fmt::format("rows_{}_{}", rows, cols), 1, rows, cols, ReduceAxis::rows);
      const u32 e = c.op("exp", {c.load(random_matrix(1, rows, cols, fp32, tile, 1))});
      const u32 sum = c.reduce("sum", e);
      c.output(sum, fp32, row, true);
      c.output(c.reduce("max", c.op("neg", {e})), fp32, row, true);
      c.output(c.op("sub", {e, c.op("mul", {sum, c.constant(1.0f / float(rows))})}), fp32, tile);
      expect_outputs(c, {.relative = 1e-6});
    }
}

// The first sum is needed in the next pass and as a result, what is made of both only from tile to tile.
TEST_P(ReduceKernel, KeepsReductionsBesideWhatIsMadeOfThem) {
  for (const ReduceAxis axis : {ReduceAxis::cols, ReduceAxis::rows}) {
    Case c(fmt::format("ahead_{}", int(axis)), 1, 75, 75, axis);
    const u32 x = c.load(random_matrix(1, 75, 75, fp32, tile, 1));
    const u32 sum = c.reduce("sum", x), mean = c.op("mul", {sum, c.constant(1 / 75.0f)});
    const u32 centred = c.op("sub", {x, mean}), square = c.op("mul", {centred, centred});
    const u32 largest = c.reduce("max", c.op("add", {square, sum}));
    c.output(c.op("add", {centred, c.op("exp", {c.op("mul", {largest, c.constant(-0.5f)})})}), fp32, tile);
    c.output(c.op("add", {sum, mean}), fp32, axis == ReduceAxis::rows ? row : tile, true);
    expect_outputs(c, {.relative = 2e-6});
  }
}

TEST_P(ReduceKernel, TakesTheSoftmaxOfAProduct) {
  Case c("scores", 2, 40, 70, ReduceAxis::cols);
  const u32 q = c.add_buffer(random_matrix(2, 40, 64, bf16, tile, 1)),
            k = c.add_buffer(random_matrix(2, 70, 64, bf16, tile, 2));
  const u32 s = c.op("mul", {c.contraction(q, k, 4, true), c.constant(0.125f)});
  const u32 e = c.op("exp", {c.op("sub", {s, c.reduce("max", s)})});
  c.output(c.op("mul", {e, c.op("reciprocal", {c.reduce("sum", e)})}), bf16, tile);
  expect_outputs(c, {.relative = 3e-3});
}

}  // namespace
}  // namespace baretile::kernel_test
