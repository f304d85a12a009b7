#include "tensor/kernel_run.h"

namespace baretile::kernel_test {
namespace {

// The matrix unit aligns products to 11 bits in groups of eight; fidelity phases 2 and 3 add the low bits of the left
// operand.
constexpr double kFourPhases = 3e-4, kTwoPhases = 8e-3, kTf32 = 2e-3, kSplit = 6e-4;

class MatmulKernel : public KernelTest {
 protected:
  // x [rows, k], or x [k, rows] transposed, times w [k, cols], or w [cols, k] transposed.
  struct Product {
    u32 rows, k, cols;
    DType x_type = bf16;
    Tiling x_tiling = tile;
    DType w_type = bf16;
    bool transposed = false;
    u32 phases = 4;
    bool x_transposed = false;
  };
  static u32 add_product(Case& c, const Product& p) {
    const u32 x = c.add_buffer(p.x_transposed ? random_matrix(1, p.k, p.rows, p.x_type, p.x_tiling, 1)
                                              : random_matrix(1, p.rows, p.k, p.x_type, p.x_tiling, 1));
    const u32 w = c.add_buffer(p.transposed ? random_matrix(1, p.cols, p.k, p.w_type, tile, 2)
                                            : random_matrix(1, p.k, p.cols, p.w_type, tile, 2));
    return c.contraction(x, w, p.phases, p.transposed, p.x_transposed);
  }
  void expect_product(const std::string& name, const Product& p, double relative) {
    Case c(name, 1, p.rows, p.cols);
    c.output(add_product(c, p), fp32, p.rows == 1 ? row : tile);
    expect_outputs(c, {.relative = relative});
  }
};
ON_EACH_SIMULATOR(MatmulKernel);

TEST_P(MatmulKernel, MultipliesBf16InFourPhasesAndLessPreciselyInTwo) {
  expect_product("four_phases", {64, 96, 128}, kFourPhases);
  expect_product("two_phases", {.rows = 64, .k = 96, .cols = 128, .phases = 2}, kTwoPhases);
}

TEST_P(MatmulKernel, TakesOtherFormatsAndTransposedRightOperands) {
  expect_product("tf32", {32, 64, 64, fp32, tile, fp32}, kTf32);
  expect_product("fp32_times_bf16", {32, 64, 64, fp32, tile, bf16}, kTf32);
  expect_product("bf16_times_fp32", {32, 64, 64, bf16, tile, fp32}, kTf32);
  expect_product("transposed", {64, 96, 70, bf16, tile, bf16, true}, kFourPhases);
  expect_product("transposed_tf32", {32, 64, 64, fp32, tile, fp32, true}, kTf32);
}

TEST_P(MatmulKernel, TakesLeftOperandsThatAreStoredTransposed) {
  for (const bool both : {false, true}) {
    Product p{.rows = 64, .k = 96, .cols = 70, .transposed = both, .x_transposed = true};
    expect_product("turned", p, kFourPhases);
    p = {.rows = 45, .k = 70, .cols = 50, .transposed = both, .phases = 2, .x_transposed = true};
    expect_product("turned_edges", p, kTwoPhases);
    p = {.rows = 33, .k = 40, .cols = 64, .x_type = fp32, .w_type = fp32, .transposed = both, .x_transposed = true};
    expect_product("turned_tf32", p, kTf32);
  }
  expect_product("turned_fp32_times_bf16", {.rows = 64, .k = 64, .cols = 64, .x_type = fp32, .x_transposed = true},
                 kTf32);
}

// Which go on where the product ends; its own pages must not.
TEST_P(MatmulKernel, MultipliesPartsOfLargerMatrices) {
  for (const bool right : {false, true})
    for (const bool left : {false, true}) {
      Case c(fmt::format("parts_{}_{}", left, right), 1, 40, 50);
      const u32 x = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 1)),
                w = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 2));
      c.output(c.contraction(x, w, 4, right, left), fp32, tile);
      expect_outputs(c, {.relative = kFourPhases});
    }
}

TEST_P(MatmulKernel, TakesOneOperandBothAsItLiesAndTransposed) {
  Case c("as_it_lies_and_turned", 1, 64, 64);
  const u32 x = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 1)),
            w = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 2)),
            v = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 3));
  const u32 turned = c.op("mul", {c.contraction(x, w, 4, false, true), c.contraction(x, v, 4, false, true)});
  c.output(c.op("add", {c.contraction(x, w, 4), turned}), fp32, tile);
  expect_outputs(c, {.relative = 3 * kFourPhases});
}

TEST_P(MatmulKernel, GoesOnWithReluBiasAndResidual) {
  Case relu("relu", 1, 64, 64), c("bias_residual", 1, 45, 50);
  relu.output(relu.op("relu", {add_product(relu, {64, 96, 64})}), fp32, tile);
  expect_outputs(relu, {.relative = kFourPhases});
  const u32 bias = c.load(random_matrix(1, 1, 50, fp32, row, 3)),
            residual = c.load(random_matrix(1, 45, 50, fp32, tile, 4));
  const u32 sum = c.op("add", {c.op("add", {add_product(c, {45, 70, 50}), bias}), residual});
  c.output(sum, fp32, tile);
  c.output(sum, bf16, tile);
  expect_outputs(c, {.relative = kFourPhases});
}

TEST_P(MatmulKernel, RepeatsOverABatch) {
  Case c("batch", 3, 40, 64);
  const u32 x = c.add_buffer(random_matrix(3, 40, 64, bf16, tile, 1)),
            w = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 2));
  c.output(c.contraction(x, w, 4), fp32, tile);
  expect_outputs(c, {.relative = kFourPhases});
}

TEST_P(MatmulKernel, UnpacksALeftOperandOnceForABlockOfColumns) {
  Case c("block", 1, 64, 32 * 128);
  const u32 sum =
      c.op("add", {add_product(c, {64, 32, 32 * 128}), c.load(random_matrix(1, 64, 32 * 128, fp32, tile, 3))});
  c.output(sum, fp32, tile);
  EXPECT_THAT(compiler::emit(c.spec).text, testing::HasSubstr("unrolled<2>"));
  expect_outputs(c, {.relative = kFourPhases});
  Case r("row_block", 1, 1, 32 * 512);
  r.output(add_product(r, {1, 64, 32 * 512, fp32, split, bf16, false, 2}), fp32, row);
  EXPECT_THAT(compiler::emit(r.spec).text, testing::HasSubstr("unrolled<4>"));
  expect_outputs(r, {.relative = kSplit});
}

TEST_P(MatmulKernel, MultipliesOneRow) {
  expect_product("row_split", {1, 576, 96, fp32, split, bf16, false, 2}, kSplit);
  expect_product("row_split_transposed", {1, 64, 96, fp32, split, bf16, true, 2}, kSplit);
  expect_product("row_bf16", {1, 64, 96, bf16, row}, kFourPhases);
  expect_product("row_tf32", {1, 64, 96, fp32, row, fp32}, kTf32);
}

// Weights of a block are all in one bank (but in the last blocks, if they are no multiple of the banks), which the tile
// that multiplies them is beside: with the coordinates of other banks taken away from every tile nothing is missing. What
// goes in and out stays in banks 0 and 1.
TEST_P(MatmulKernel, ReadsTheWeightsOfOneRowFromTheBankBesideTheTile) {
  const auto tables = [&](const std::string& name, const std::string& lines) {
    const compiler::KernelSource source{
        name,
        "#include \"noc.h\"\nusing namespace baretile;\nusing namespace baretile::kernel;\n"
        "extern \"C\" void kernel_brisc(const u32*) {\n  auto& info = mailbox().info;\n"
        "  for (u32 b = 2; b < info.dram_banks; ++b) {\n    const u32 kept = abi::kData + abi::kDataBytes - 64 + 4 * "
        "b;\n" +
            lines + "  }\n  fence();\n}\n"};
    runtime().launch(compiler::build_kernels({&source, 1}, {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache"})[0],
                     {});
  };
  for (const u32 tiles : {250u, 384u, 390u}) {  // a column of tiles an item, three, and three for 130 items
    Case c(fmt::format("beside_{}", tiles), 1, 1, 32 * tiles);
    c.output(add_product(c, {1, 32 * 6, 32 * tiles, bf16, row, bf16, true}), bf16, row);
    const Launch work = compiler::emit(c.spec).work;
    EXPECT_EQ(work.beside, 1);
    EXPECT_EQ(work.max_workers, tiles == 250 ? 250u : tiles / 3);
    std::vector<std::vector<u8>> stored;
    std::vector<u32> page_bytes;
    for (const Matrix& m : c.buffers) {
      page_bytes.push_back(m.page_bytes());
      stored.push_back(m.values.empty() ? std::vector<u8>(m.pages() * m.page_bytes()) : encode(m));
    }
    auto alone = stored;
    expect_outputs(c, {.relative = kFourPhases});
    launch(c.spec, stored, page_bytes);
    tables("hide_banks",
           "    reg(kept) = info.dram_coord[b];\n    if (b != info.logical_index % info.dram_banks) info.dram_coord[b] "
           "= info.dram_coord[0];\n");
    run_pages_ = {255, 6, 255};
    launch(c.spec, alone, page_bytes);
    tables("show_banks", "    info.dram_coord[b] = reg(kept);\n");
    run_pages_.clear();
    const u32 width = tiles / work.max_workers, last = width == 1 ? 0 : work.max_workers % runtime().dram_banks();
    const size_t bytes = size_t(work.max_workers - last) * width * page_bytes[2];
    ASSERT_LE(bytes, alone.back().size());
    EXPECT_TRUE(std::equal(stored.back().begin(), stored.back().begin() + bytes, alone.back().begin())) << tiles;
  }
}

TEST_P(MatmulKernel, MultipliesSplitRowsOfEveryCount) {
  for (const u32 rows : {3u, 7u, 20u, 32u, 45u}) {
    Case c(fmt::format("split_rows_{}", rows), 1, rows, 64);
    const u32 product = add_product(c, {rows, 96, 64, fp32, split, bf16, false, 2});
    c.output(product, fp32, tile);
    c.output(product, fp32, split);
    expect_outputs(c, {.relative = kSplit});
  }
}

TEST_P(MatmulKernel, GatesTwoProductsOfOneLeftOperand) {
  for (const u32 rows : {1u, 40u}) {
    Case c(fmt::format("swiglu_{}", rows), 1, rows, 96);
    const u32 h = c.add_buffer(random_matrix(1, rows, 576, fp32, split, 1, -.3f, .3f));
    const u32 g = c.contraction(h, c.add_buffer(random_matrix(1, 576, 96, bf16, tile, 2, -.3f, .3f)), 2);
    const u32 u = c.contraction(h, c.add_buffer(random_matrix(1, 576, 96, bf16, tile, 3, -.3f, .3f)), 2);
    const u32 sigmoid = c.op("reciprocal", {c.op("add", {c.constant(1), c.op("exp", {c.op("neg", {g})})})});
    const u32 gated = c.op("mul", {c.op("mul", {g, sigmoid}), u});
    c.output(gated, fp32, rows == 1 ? row : tile);
    c.output(gated, fp32, split);
    expect_outputs(c, {.relative = 1e-3});
  }
}

TEST_P(MatmulKernel, AddsTwoProductsOfSplitRows) {
  Case c("two_split", 1, 45, 64);
  const u32 x = c.add_buffer(random_matrix(1, 45, 64, fp32, split, 1)),
            w = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 2));
  const u32 y = c.add_buffer(random_matrix(1, 45, 96, fp32, split, 3)),
            v = c.add_buffer(random_matrix(1, 64, 96, bf16, tile, 4));
  c.output(c.op("add", {c.contraction(x, w, 2), c.contraction(y, v, 2, true)}), fp32, tile);
  expect_outputs(c, {.relative = kSplit});
}

TEST_P(MatmulKernel, AddsProductsOfDifferentKinds) {
  Case c("two_kinds", 1, 1, 64);
  const u32 x = c.add_buffer(random_matrix(1, 1, 64, fp32, split, 1)),
            w = c.add_buffer(random_matrix(1, 64, 64, bf16, tile, 2));
  const u32 y = c.add_buffer(random_matrix(1, 1, 96, bf16, row, 3)),
            v = c.add_buffer(random_matrix(1, 64, 96, bf16, tile, 4));
  const u32 a = c.load(random_matrix(1, 1, 64, fp32, row, 5)), b = c.load(random_matrix(1, 1, 64, bf16, row, 6));
  c.output(c.op("add", {c.op("mul", {c.contraction(x, w, 2), a}), c.op("mul", {c.contraction(y, v, 4, true), b})}),
           fp32, row);
  expect_outputs(c, {.relative = kSplit});
}

}  // namespace
}  // namespace baretile::kernel_test
