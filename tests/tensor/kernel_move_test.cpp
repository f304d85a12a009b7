#include "tensor/kernel_run.h"

namespace baretile::kernel_test {
namespace {

using compiler::MoveKernel;

class MoveKernelTest : public OnSimulator {
 protected:
  static Matrix indices(std::vector<double> values) {
    return {1, 1, u32(values.size()), DType::int32, row, std::move(values)};
  }
  static std::vector<u8> pages(const Matrix& m) {
    if (m.dtype != DType::int32) return encode(m);
    Matrix bits = m;  // integers as the fp32 values of the same bits
    bits.dtype = fp32;
    for (double& v : bits.values) v = std::bit_cast<float>(i32(v));
    return encode(bits);
  }
  static MoveKernel box(std::vector<u32> sizes, std::vector<i64> from, std::vector<i64> to, i64 from_offset = 0,
                        i64 to_offset = 0) {
    MoveKernel m;
    m.sizes = std::move(sizes);
    m.src_strides = std::move(from);
    m.dst_strides = std::move(to);
    m.src_offset = from_offset;
    m.dst_offset = to_offset;
    return m;
  }
  static MoveKernel by_rows(MoveKernel::Kind kind, MoveKernel m = {}) {
    m.kind = kind;
    return m;
  }
  // Moves from buffer 0 to the last one, by the indices in buffer 1 if there are three.
  void expect_move(const std::string& name, MoveKernel move, const std::vector<Matrix>& buffers, const Matrix& want) {
    KernelSpec spec;
    spec.name = name;
    spec.kind = compiler::KernelKind::move;
    spec.move = std::move(move);
    spec.move.index = 1;
    spec.move.dst = u32(buffers.size()) - 1;
    std::vector<std::vector<u8>> stored;
    std::vector<u32> page_bytes;
    for (const Matrix& m : buffers) {
      spec.buffers.push_back({m.dtype, m.tiling, {m.batch, m.rows, m.cols}});
      stored.push_back(pages(m));
      page_bytes.push_back(m.page_bytes());
    }
    launch(spec, stored, page_bytes);
    EXPECT_TRUE(stored.back() == pages(want)) << name;
  }
};
ON_EACH_SIMULATOR(MoveKernelTest);

TEST_P(MoveKernelTest, GathersRowsByIndex) {
  for (const DType dtype : {bf16, fp32})
    for (const u32 n : {1u, 40u}) {
      const Matrix table = random_matrix(1, 100, 75, dtype, tile, 1);
      std::vector<double> index;
      for (u32 i = 0; i < n; ++i) index.push_back((i * 37 + 13) % 100);
      Matrix want = random_matrix(1, n, 75, dtype, n == 1 ? row : tile, 2), before = want;
      for (u32 i = 0; i < n; ++i)
        for (u32 j = 0; j < 75; ++j) want.at(0, i, j) = table.at(0, u32(index[i]), j);
      expect_move(fmt::format("gather_{}_{}", n, dtype_bytes(dtype)), by_rows(MoveKernel::Kind::gather_rows),
                  {table, indices(index), before}, want);
    }
}

TEST_P(MoveKernelTest, ScattersRowsInPlaceAndDropsThoseBeyondTheMatrix) {
  for (const DType dtype : {bf16, fp32}) {
    const Matrix src = random_matrix(1, 3, 3 * 64, dtype, tile, 1);  // [row, batch * 64 + column]
    const Matrix before = random_matrix(3, 50, 64, dtype, tile, 2);
    Matrix want = before;
    for (u32 b = 0; b < 3; ++b)
      for (u32 c = 0; c < 64; ++c) {
        want.at(b, 5, c) = src.at(0, 0, b * 64 + c);
        want.at(b, 40, c) = src.at(0, 1, b * 64 + c);
      }
    expect_move(fmt::format("scatter_{}", dtype_bytes(dtype)),
                by_rows(MoveKernel::Kind::scatter_rows, box({3, 3, 64}, {64, 3 * 64, 1}, {})),
                {src, indices({5, 40, 50}), before}, want);
  }
}

TEST_P(MoveKernelTest, ScattersAnUnalignedPartOfARow) {
  const Matrix src = random_matrix(1, 1, 200, fp32, row, 1), before = random_matrix(3, 50, 40, fp32, tile, 2);
  Matrix want = before;
  for (u32 b = 0; b < 3; ++b)
    for (u32 c = 0; c < 40; ++c) want.at(b, 33, c) = src.at(0, 0, 50 + b * 40 + c);
  expect_move("scatter_part", by_rows(MoveKernel::Kind::scatter_rows, box({3, 1, 40}, {40, 40, 1}, {}, 50)),
              {src, indices({33}), before}, want);
}

TEST_P(MoveKernelTest, CopiesTransposed) {
  for (const DType dtype : {bf16, fp32, DType::int32}) {
    Matrix src = random_matrix(1, 45, 70, dtype, tile, 1, -1000, 1000), want = random_matrix(1, 70, 45, dtype, tile, 2),
           before = want;
    if (dtype == DType::int32)
      for (Matrix* m : {&src, &before})
        for (double& v : m->values) v = std::trunc(v) + 3;
    for (u32 i = 0; i < 70; ++i)
      for (u32 j = 0; j < 45; ++j) want.at(0, i, j) = src.at(0, j, i);
    expect_move(fmt::format("transpose_{}", u32(dtype)), box({70, 45}, {1, 70}, {45, 1}), {src, before}, want);
  }
}

TEST_P(MoveKernelTest, CopiesIntoAnotherShape) {
  const Matrix src = random_matrix(1, 24, 50, fp32, tile, 1), before = random_matrix(1, 40, 30, fp32, tile, 2);
  expect_move("reshape", box({1200}, {1}, {1}), {src, before}, {1, 40, 30, fp32, tile, src.values});
  const Matrix heads = random_matrix(1, 1, 192, fp32, row, 3);
  expect_move("heads", box({3, 64}, {64, 1}, {64, 1}), {heads, random_matrix(3, 1, 64, fp32, row, 4)},
              {3, 1, 64, fp32, row, heads.values});
}

TEST_P(MoveKernelTest, CopiesABoxAndLeavesOrClearsTheRest) {
  const Matrix piece = random_matrix(2, 10, 20, bf16, tile, 1), before = random_matrix(2, 10, 50, bf16, tile, 2);
  Matrix want = before;
  for (u32 b = 0; b < 2; ++b)
    for (u32 i = 0; i < 10; ++i)
      for (u32 j = 0; j < 20; ++j) want.at(b, i, 25 + j) = piece.at(b, i, j);
  expect_move("concat", box({2, 10, 20}, {200, 20, 1}, {500, 50, 1}, 0, 25), {piece, before}, want);
  const Matrix src = random_matrix(1, 60, 70, fp32, tile, 1), old = random_matrix(1, 40, 40, fp32, tile, 2);
  Matrix cleared = old;
  cleared.values.assign(1600, 0);
  for (u32 i = 0; i < 20; ++i)
    for (u32 j = 0; j < 30; ++j) cleared.at(0, i + 3, j + 5) = src.at(0, i + 33, 69 - j);  // columns reversed
  MoveKernel cleared_box = box({20, 30}, {70, -1}, {40, 1}, 33 * 70 + 69, 3 * 40 + 5);
  cleared_box.clear = true;
  expect_move("cleared", cleared_box, {src, old}, cleared);
}

}  // namespace
}  // namespace baretile::kernel_test
