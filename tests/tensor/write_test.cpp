// assign_rows: what is overwritten, who still sees the old value, and that nothing is copied without need.
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Writes : public OnDevice {
 protected:
  static Array overwritten(Array x, const std::vector<i32>& rows, const Array& values) {
    const i64 batch = x.shape.size() > 2 ? x.shape[0] : 1, height = x.shape[x.shape.size() - 2], cols = x.shape.back();
    for (i64 b = 0; b < batch; ++b)
      for (size_t r = 0; r < rows.size(); ++r)
        for (i64 c = 0; c < cols; ++c)
          x.values[size_t((b * height + rows[r]) * cols + c)] =
              values.values[(size_t(b) * rows.size() + r) * size_t(cols) + size_t(c)];
    return x;
  }
};
ON_EACH_DEVICE(Writes);

TEST_P(Writes, RowsOfMatricesAreOverwrittenInPlace) {
  const std::vector<i32> rows{38, 0, 17};
  for (const DType dtype : {fp32, bf16}) {
    for (const Shape& shape : {Shape{40, 33}, Shape{3, 40, 64}, Shape{2, 39, 7}}) {
      Shape part = shape;
      part[part.size() - 2] = 3;
      const Array x = eighths(shape, 1), v = eighths(part, 2);
      Tensor cache = upload(x, dtype);
      const u64 address = cache.expr()->storage.address();
      cache.assign_rows(indices(rows), upload(v, dtype));
      EXPECT_EQ(launches([&] { cache.realize(); }), 1u);
      expect("cache", cache, overwritten(x, rows, v));
      EXPECT_EQ(cache.expr()->storage.address(), address);
    }
  }
}

TEST_P(Writes, StepAfterStepFillsACache) {
  Array want{{2, 40, 33}, std::vector<double>(2 * 40 * 33)};
  Tensor cache = Tensor::zeros(runtime(), want.shape);
  for (i32 step = 0; step < 5; ++step) {
    const Array v = eighths({2, 1, 33}, u32(step));
    cache.assign_rows(indices({step * 9}), upload(v));
    want = overwritten(want, {step * 9}, v);
    const Array total = fold(want, -2, 0, [](double a, double b) { return a + b; });
    expect("a reader of the new value", sum(cache, 1, true), total, {0, 0x1p-18});
    expect("cache", cache, want);
  }
}

TEST_P(Writes, EarlierReadersKeepTheOldValue) {
  const Array x = eighths({40, 33}, 1), v = eighths({2, 33}, 2);
  const std::vector<i32> rows{3, 39};
  const Array after = overwritten(x, rows, v), doubled = map(x, [](double e) { return 2 * e; });
  {
    Tensor cache = upload(x), reader = cache * 2;
    cache.assign_rows(indices(rows), upload(v));
    realize({reader, cache});  // in one program
    expect("reader", reader, doubled);
    expect("cache", cache, after);
  }
  {
    Tensor cache = upload(x), reader = cache * 2;
    cache.assign_rows(indices(rows), upload(v));
    expect("cache", cache, after);  // the write first, the reader later
    expect("reader", reader, doubled);
  }
  {
    Tensor cache = upload(x), old = cache;
    cache.assign_rows(indices(rows), upload(v));
    expect("cache", cache, after);
    expect("old", old, x);
  }
  {
    Tensor cache = upload(x), view = cache.reshape({20, 66});
    cache.assign_rows(indices(rows), upload(v));
    expect("cache", cache, after);
    expect("view", view, Array{{20, 66}, x.values});
  }
}

TEST_P(Writes, LaterReadersSeeTheNewValueAndTheWriteHappensWithThem) {
  const Array x = eighths({40, 33}, 1), v = eighths({1, 33}, 2);
  Tensor cache = upload(x);
  cache.assign_rows(indices({5}), upload(v) * 2);
  const Array after = overwritten(x, {5}, map(v, [](double e) { return 2 * e; }));
  expect("reader", cache + 1, map(after, [](double e) { return e + 1; }));
  EXPECT_EQ(launches([&] { expect("cache", cache, after); }), 0u) << "it was written with its reader";
}

TEST_P(Writes, SeveralInOneProgramFollowEachOther) {
  const Array x = eighths({40, 33}, 1), v = eighths({2, 33}, 2), w = eighths({2, 33}, 3);
  Tensor cache = upload(x);
  cache.assign_rows(indices({5, 6}), upload(v));
  Tensor between = cache + 1;
  cache.assign_rows(indices({6, 7}), upload(w));
  realize({cache, between});
  const Array first = overwritten(x, {5, 6}, v);
  expect("between", between, map(first, [](double e) { return e + 1; }));
  expect("cache", cache, overwritten(first, {6, 7}, w));
}

TEST_P(Writes, TheValuesMayBeAViewOrTheTensorItself) {
  const Array x = eighths({3, 40, 64}, 1), v = eighths({2, 3 * 64}, 2);
  Tensor cache = upload(x), heads = upload(v).reshape({2, 3, 64}).permute({1, 0, 2});
  cache.assign_rows(indices({4, 33}), heads);
  expect("heads", cache, overwritten(x, {4, 33}, generate({3, 2, 64}, [&](const Shape& i) {
                                       return v.at({i[1], i[0] * 64 + i[2]});
                                     })));
  const Array y = eighths({40, 33}, 3);
  Tensor own = upload(y);
  own.assign_rows(indices({0, 1}), own.slice(0, 1, 3));
  const Array rows = generate({2, 33}, [&](const Shape& i) { return y.at({i[0] + 1, i[1]}); });
  expect("its own rows", own, overwritten(y, {0, 1}, rows));
}

}  // namespace
}  // namespace baretile::tensor_test
