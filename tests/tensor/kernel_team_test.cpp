// Products whose blocks a team of tiles shares out.
#include "tensor/kernel_run.h"

namespace baretile::kernel_test {
namespace {

class TeamKernel : public KernelTest {
 protected:
  static constexpr double kFourPhases = 3e-4, kTf32 = 2e-3;  // see kernel_matmul_test.cpp
  static u32 add_product(Case& c, u32 k, DType type = bf16, bool transposed = false, u32 phases = 4) {
    const u32 x = c.add_buffer(random_matrix(c.batch, c.rows, k, type, tile, 1));
    const u32 w = c.add_buffer(transposed ? random_matrix(1, c.cols, k, type, tile, 2)
                                          : random_matrix(1, k, c.cols, type, tile, 2));
    return c.contraction(x, w, phases, transposed);
  }
  void expect_product(const std::string& name, u32 rows, u32 k, u32 cols, DType type, bool transposed,
                      double relative) {
    Case c(name, 1, rows, cols);
    c.output(add_product(c, k, type, transposed), fp32, tile);
    expect_team(c);
    expect_outputs(c, {.relative = relative});
  }
  static void expect_team(const Case& c) { EXPECT_NE(compiler::emit(c.spec).work.block_rows, 0u) << c.spec.name; }
  // What is left in the last buffer after a launch on so many tiles.
  std::vector<u8> bytes_on(const Case& c, u32 most) {
    std::vector<std::vector<u8>> stored;
    std::vector<u32> page_bytes;
    for (const Matrix& m : c.buffers) {
      page_bytes.push_back(m.page_bytes());
      stored.push_back(m.values.empty() ? std::vector<u8>(m.pages() * m.page_bytes(), 0xA5) : encode(m));
    }
    launch(c.spec, stored, page_bytes, most);
    return stored.back();
  }
  // Of all tiles so far, as their NIUs count them on NoC 0.
  u64 read_requests() {
    const compiler::KernelSource source{"read_requests", R"(
#include "whole/move.h"
using namespace baretile;
using namespace baretile::kernel;
extern "C" void kernel_brisc(const u32* args) {
  reg(abi::kData) = Niu<0, 0>::counter(kNiuReadAcks);
  Mover<Core::brisc> mover;
  mover.write(args[0], mailbox().info.logical_index, 64, 0, abi::kData, 64);
}
)"};
    const u32 tiles = runtime().workers();
    const DeviceBuffer counts = runtime().allocate(64, tiles);
    Program program;
    program.kernels = compiler::build_kernels({&source, 1}, {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache"});
    program.buffers.push_back({.name = "counts", .shape = {tiles}, .pages = tiles, .external = 0});
    program.launches.push_back(
        {.max_workers = tiles, .args = {{LaunchArg::Kind::buffer, 0}}, .label = "read_requests"});
    const u64 address = counts.address();
    runtime().run(program, {&address, 1});
    std::vector<std::array<u32, 16>> pages(tiles);
    runtime().read_pages(counts, 0, std::as_writable_bytes(std::span(pages)));
    u64 sum = 0;
    for (const auto& page : pages) sum += page[0];
    return sum;
  }
};
ON_EACH_SIMULATOR(TeamKernel);

TEST_P(TeamKernel, MultipliesMatricesOfManyShapes) {
  expect_product("team_square", 256, 256, 256, bf16, false, kFourPhases);
  expect_product("team_edges", 150, 300, 210, bf16, false, kFourPhases);
  expect_product("team_many_rounds", 13 * 32, 256, 17 * 32, bf16, false, kFourPhases);
  expect_product("team_tf32_transposed", 128, 288, 256, fp32, true, kTf32);
}

TEST_P(TeamKernel, TurnsALeftOperandThatIsStoredTransposed) {
  Case c("team_turned", 1, 150, 256);
  const u32 x = c.add_buffer(random_matrix(1, 288, 150, bf16, tile, 1)),
            w = c.add_buffer(random_matrix(1, 288, 256, bf16, tile, 2));
  c.output(c.contraction(x, w, 4, false, true), fp32, tile);
  expect_team(c);
  expect_outputs(c, {.relative = kFourPhases});
  EXPECT_EQ(bytes_on(c, 3), bytes_on(c, UINT32_MAX));
}

TEST_P(TeamKernel, GoesOnWithOtherOperandsOfTheBlock) {
  Case c("team_bias_residual", 1, 140, 256);
  const u32 product = add_product(c, 256);
  const u32 bias = c.load(random_matrix(1, 1, 256, fp32, row, 3)),
            residual = c.load(random_matrix(1, 140, 256, bf16, tile, 4));
  const u32 sum = c.op("add", {c.op("add", {product, bias}), residual});
  c.output(sum, fp32, tile);
  c.output(c.op("relu", {sum}), bf16, tile);
  expect_team(c);
  expect_outputs(c, {.relative = kFourPhases});
  EXPECT_EQ(bytes_on(c, 3), bytes_on(c, UINT32_MAX)) << "with rounds in which some tiles have no block";
}

TEST_P(TeamKernel, MultipliesOneLeftOperandByTwoRightOnesAndAddsAnotherProduct) {
  Case c("team_gated", 1, 128, 256);
  const u32 x = c.add_buffer(random_matrix(1, 128, 288, bf16, tile, 1, -.3f, .3f));
  const u32 g = c.contraction(x, c.add_buffer(random_matrix(1, 288, 256, bf16, tile, 2, -.3f, .3f)), 4);
  const u32 u = c.contraction(x, c.add_buffer(random_matrix(1, 288, 256, bf16, tile, 3, -.3f, .3f)), 4);
  const u32 y = c.add_buffer(random_matrix(1, 128, 256, bf16, tile, 4, -.3f, .3f));
  const u32 v = c.contraction(y, c.add_buffer(random_matrix(1, 256, 256, bf16, tile, 5, -.3f, .3f)), 4);
  c.output(c.op("add", {c.op("mul", {g, u}), v}), fp32, tile);
  expect_team(c);
  expect_outputs(c, {.relative = 3 * kFourPhases});
}

TEST_P(TeamKernel, RepeatsOverABatchWithOneRightOperandOrMany) {
  Case one("team_batch", 3, 128, 128);
  one.output(add_product(one, 256), fp32, tile);
  EXPECT_EQ(compiler::emit(one.spec).work.block_rows % 3, 0u) << "matrices below one another";
  expect_team(one);
  expect_outputs(one, {.relative = kFourPhases});
  Case many("team_batch_of_both", 2, 128, 256);
  const u32 x = many.add_buffer(random_matrix(2, 128, 256, bf16, tile, 1)),
            w = many.add_buffer(random_matrix(2, 256, 256, bf16, tile, 2));
  many.output(many.contraction(x, w, 4), fp32, tile);
  expect_team(many);
  expect_outputs(many, {.relative = kFourPhases});
}

TEST_P(TeamKernel, GivesTheSameBitsOnAnyNumberOfTilesAndWithoutATeam) {
  constexpr u32 kRows = 192, kInner = 256, kCols = 192, kFew = 96, kPage = 4096;
  Case c("team_bits", 1, kRows, kCols);
  c.output(add_product(c, kInner), fp32, tile);
  expect_team(c);
  const std::vector<u8> all = bytes_on(c, UINT32_MAX);
  for (const u32 most : {1u, 2u, 3u, 7u, 12u, 31u}) EXPECT_EQ(bytes_on(c, most), all) << most << " tiles";
  Case narrow("few_bits", 1, kRows, kFew);  // the first columns, which are too few for a team
  const u32 x = narrow.add_buffer(c.buffers[0]);
  Matrix w{1, kInner, kFew, bf16, tile, {}};
  for (u32 i = 0; i < kInner; ++i)
    for (u32 j = 0; j < kFew; ++j) w.values.push_back(c.buffers[1].at(0, i, j));
  narrow.output(narrow.contraction(x, narrow.add_buffer(w), 4), fp32, tile);
  ASSERT_EQ(compiler::emit(narrow.spec).work.block_rows, 0u);
  const std::vector<u8> few = bytes_on(narrow, UINT32_MAX);
  for (u32 i = 0; i < kRows / 32; ++i)
    for (u32 j = 0; j < kFew / 32; ++j) {
      const auto page = few.begin() + (i * kFew / 32 + j) * kPage;
      EXPECT_TRUE(std::equal(page, page + kPage, all.begin() + (i * kCols / 32 + j) * kPage)) << i << ", " << j;
    }
}

TEST_P(TeamKernel, LeavesEverythingForTheNextLaunchAsItWas) {
  Case c("team_again", 1, 160, 224);
  c.output(add_product(c, 320, bf16, false, 2), fp32, tile);
  const std::vector<u8> first = bytes_on(c, UINT32_MAX);
  for (const u32 most : {UINT32_MAX, 6u, UINT32_MAX}) EXPECT_EQ(bytes_on(c, most), first);
}

TEST_P(TeamKernel, ReadsEveryPageOnce) {
  Case c("team_reads", 1, 512, 512);
  c.output(add_product(c, 512, bf16, false, 1), fp32, tile);
  const u64 before = read_requests();
  bytes_on(c, UINT32_MAX);
  const u32 pages = 2 * 16 * 16, in_a_request = 4;  // both neighbours along k on the left and along a row on the right
  EXPECT_EQ(read_requests() - before, pages / in_a_request);
}

}  // namespace
}  // namespace baretile::kernel_test
