// Large matrices from the host lie in DRAM row by row of tiles: whatever reads or writes them finds its pages.
#include "baretile/jit.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Runs : public OnDevice {
 protected:
  static constexpr i64 kRows = 25 * 32 - 3, kCols = 7 * 32 - 5;
};
ON_EACH_DEVICE(Runs);

TEST_P(Runs, AreRowsOfTilesWhereAMatrixHasManyOfThem) {
  const auto run = [](const Shape& shape, DType dtype = fp32) {
    return Tensor::zeros(runtime(), shape, dtype).expr()->storage.run_pages();
  };
  EXPECT_EQ(run({kRows, kCols}), 7u);
  EXPECT_EQ(run({3, 8 * 32, 5 * 32}, DType::bfp8), 5u);
  EXPECT_EQ(run({24 * 32, 128 * 32}, bf16), 128u);
  EXPECT_EQ(run({24 * 32, 128 * 32 + 1}, bf16), abi::kRunPages) << "too long";
  EXPECT_EQ(run({23 * 32, kCols}), abi::kRunPages) << "too few";
  EXPECT_EQ(run({1, 5000}), abi::kRunPages) << "one row";
}

TEST_P(Runs, AreReadByEveryKindOfKernel) {
  const Array x = eighths({kRows, kCols}, 1), row = eighths({1, kCols}, 2), few = eighths({40, kCols}, 3),
              narrow = eighths({kCols, 33}, 4);
  const Tensor w = upload(x), b = upload(x, bf16);
  ASSERT_EQ(w.expr()->storage.run_pages(), 7u);
  const Array turned = generate({kCols, kRows}, [&](const Shape& i) { return x.at({i[1], i[0]}); });
  const Array part = generate({100, kCols}, [&](const Shape& i) { return x.at({i[0] * 2 + 50, i[1]}); });
  const std::vector<i32> rows{796, 3, 33, 32};
  const Array picked = generate({4, kCols}, [&](const Shape& i) { return x.at({rows[size_t(i[0])], i[1]}); });
  const auto add = [](double a, double v) { return a + v; };
  Cases cases;
  cases.add("back", w, x);
  cases.add("elementwise", w + 1.0, map(x, [](double v) { return v + 1; }));
  cases.add("turned", w.transpose() * 2, map(turned, [](double v) { return 2 * v; }));
  cases.add("part", w.slice(0, 50, 250, 2), part);
  cases.add("rows", gather_rows(w, indices(rows)), picked);
  cases.add("reduced", sum(w, 0, true), fold(x, 0, 0, add), {0, 0x1p-12});
  cases.add("by one row", matmul(upload(row, bf16), b.transpose()), product(row, turned, {1, kRows}));
  cases.add("by a few", matmul(upload(few, bf16), b.transpose()), product(few, turned, {40, kRows}));
  cases.add("on the left", matmul(b, upload(narrow, bf16)), product(x, narrow, {kRows, 33}));
  cases.check();
}

TEST_P(Runs, AreKeptByWhatIsWrittenInPlace) {
  const Array x = eighths({kRows, kCols}, 1), v = eighths({2, kCols}, 2);
  Tensor state = upload(x);
  Array want = x;
  const auto assign = [&](i64 first, i64 second) {
    for (i64 c = 0; c < kCols; ++c) {
      want.values[size_t(first * kCols + c)] = v.at({0, c});
      want.values[size_t(second * kCols + c)] = v.at({1, c});
    }
  };
  state.assign_rows(indices({700, 64}), upload(v));
  assign(700, 64);
  expect("rows", state, want);
  Jit step(
      [&](const std::vector<Tensor>& in) {
        state = state * 2 + in[0];
        return std::vector{sum(state)};
      },
      {&state});
  for (int n = 0; n < 3; ++n) {
    step({upload(generate({1, kCols}, [](const Shape&) { return 1.0; }))});
    want = map(want, [](double a) { return 2 * a + 1; });
    expect("a state of a traced function", state, want);
  }
  EXPECT_EQ(step.traces(), 1u);
}

}  // namespace
}  // namespace baretile::tensor_test
