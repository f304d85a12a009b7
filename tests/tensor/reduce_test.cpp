#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Reduce : public OnDevice {};
ON_EACH_DEVICE(Reduce);

double plus(double a, double b) { return a + b; }
double larger(double a, double b) { return std::max(a, b); }

Array dropped(Array x, i64 axis) {
  x.shape.erase(x.shape.begin() + (axis < 0 ? axis + i64(x.shape.size()) : axis));
  return x;
}

Array softmax_of(const Array& x, i64 axis) {
  const Array top = fold(x, axis, -INFINITY, larger);
  const Array e = generate(x.shape, [&](const Shape& i) { return std::exp(x.at(i) - top.at(i)); });
  const Array total = fold(e, axis, 0, plus);
  return generate(x.shape, [&](const Shape& i) { return e.at(i) / total.at(i); });
}

// exp's argument, at most 8 here, is rounded to 2^-22; exp, the sum, its reciprocal and the product add 2 + 8 + 2 + 1
// ulp.
constexpr Bound kSoftmax{32};

TEST_P(Reduce, SumMeanAndMaxOverEveryAxisOfEveryRank) {
  std::vector<Tensor> outputs;
  std::vector<Array> wants;
  for (const Shape& shape :
       {Shape{70}, Shape{33, 65}, Shape{1, 40}, Shape{65, 1}, Shape{3, 33, 5}, Shape{2, 3, 4, 33}}) {
    // Below zero, so that a zero of the padding would win.
    const Array x = map(eighths(shape, 1), [](double v) { return v - 3; });
    Tensor input = upload(x);
    for (i64 axis = -i64(shape.size()); axis < i64(shape.size()); ++axis) {
      outputs.push_back(sum(input, axis, true));
      wants.push_back(fold(x, axis, 0, plus));
      if (axis >= 0) continue;
      outputs.push_back(max(input, axis));
      wants.push_back(dropped(fold(x, axis, -INFINITY, larger), axis));
    }
  }
  realize(outputs);
  for (size_t n = 0; n < outputs.size(); ++n) expect(fmt::format("case {}", n), outputs[n], wants[n]);
}

TEST_P(Reduce, ShapesFromOneToTwoTilesAndABit) {
  std::vector<Tensor> outputs;
  std::vector<Array> wants;
  for (const i64 rows : {1, 32, 65}) {
    for (const i64 cols : {1, 31, 33, 63}) {
      const Array x = map(eighths({rows, cols}, 1), [](double v) { return v - 3; });
      Tensor input = upload(x);
      outputs.insert(outputs.end(), {sum(input, 0), sum(input, 1), max(input, 0), max(input, 1)});
      for (const i64 axis : {0, 1}) wants.push_back(dropped(fold(x, axis, 0, plus), axis));
      for (const i64 axis : {0, 1}) wants.push_back(dropped(fold(x, axis, -INFINITY, larger), axis));
    }
  }
  realize(outputs);
  for (size_t n = 0; n < outputs.size(); ++n) expect(fmt::format("case {}", n), outputs[n], wants[n]);
}

TEST_P(Reduce, MoreResultsThanTiles) {
  const Array tall = map(eighths({4600, 33}, 1), [](double v) { return v - 3; }), scores = random_array({4600, 5}, 2);
  const Array turned{{33, 4600}, tall.values};
  Tensor x = upload(tall), wide = upload(turned), soft = softmax(upload(scores));
  Tensor rows = sum(x, 1), columns = sum(wide, 0), most = max(wide, 0);
  realize({rows, columns, most, soft});
  expect("rows", rows, dropped(fold(tall, 1, 0, plus), 1));
  expect("columns", columns, dropped(fold(turned, 0, 0, plus), 0));
  expect("most", most, dropped(fold(turned, 0, -INFINITY, larger), 0));
  expect("softmax", soft, softmax_of(scores, -1), kSoftmax);
}

TEST_P(Reduce, SumsAreAsPreciseAsTheirRowSays) {
  const Array positive = random_array({40, 200}, 1, 0.1f, 3), signs = random_array({40, 200}, 2, -3, 3);
  const auto magnitude = [](double a, double b) { return a + std::fabs(b); };
  for (const i64 axis : {0, 1}) {
    Tensor a = sum(upload(positive), axis, true), b = sum(upload(signs), axis, true),
           m = mean(upload(positive), axis, true);
    realize({a, b, m});
    expect("positive", a, fold(positive, axis, 0, plus), {8});
    // Where terms cancel the error is that of the terms.
    expect("signs", b, fold(signs, axis, 0, plus), {0, 8 * 0x1p-24 * largest(fold(signs, axis, 0, magnitude))});
    const double count = axis == 0 ? 40 : 200;
    expect("mean", m, map(fold(positive, axis, 0, plus), [&](double v) { return v / count; }), {10});
  }
}

TEST_P(Reduce, InfinitiesAndNaNsPassThrough) {
  Array x = eighths({3, 40}, 1);
  x.values[5] = INFINITY, x.values[45] = -INFINITY, x.values[85] = NAN;
  Tensor input = upload(x), s = sum(input, 1), m = max(input, 1);
  realize({s, m});
  const double most = std::max_element(x.values.begin() + 40, x.values.begin() + 80)[0];
  expect("sum", s, Array{{3}, {INFINITY, -INFINITY, NAN}});
  expect("max", m, Array{{3}, {INFINITY, most, NAN}});
}

TEST_P(Reduce, Bf16IsSummedInFp32) {
  const Array x = stored(random_array({33, 70}, 1, 0.5f, 2), bf16);
  Tensor s = sum(upload(x, bf16), -1, true), m = max(upload(x, bf16), 0);
  EXPECT_EQ(s.dtype(), bf16);
  expect("sum", s, fold(x, -1, 0, plus), {8});
  expect("max", m, dropped(fold(x, 0, -INFINITY, larger), 0));
}

TEST_P(Reduce, SoftmaxOverEitherAxis) {
  std::vector<Tensor> outputs;
  std::vector<Array> wants;
  for (const Shape& shape : {Shape{5, 70}, Shape{1, 33}, Shape{2, 3, 33, 40}, Shape{65, 1}, Shape{33}}) {
    const Array x = random_array(shape, 1, -4, 4);
    outputs.push_back(softmax(upload(x)));
    wants.push_back(softmax_of(x, -1));
    if (shape.size() < 2) continue;
    outputs.push_back(softmax(upload(x), -2));
    wants.push_back(softmax_of(x, -2));
  }
  realize(outputs);
  for (size_t n = 0; n < outputs.size(); ++n) expect(fmt::format("case {}", n), outputs[n], wants[n], kSoftmax);
}

TEST_P(Reduce, SoftmaxOfLargeAndMaskedScores) {
  Array x = random_array({4, 40}, 1, 1e4f, 1e4f + 4);
  for (size_t n = 60; n < 80; ++n) x.values[n] = -INFINITY;  // half a row
  for (size_t n = 80; n < 100; ++n) x.values[n] = -1e30;
  for (double& v : x.values) v = float(v);
  expect("softmax", softmax(upload(x)), softmax_of(x, -1), kSoftmax);
}

TEST_P(Reduce, RmsNormOfRowsWithAWeight) {
  for (const Shape& shape : {Shape{1, 576}, Shape{5, 70}, Shape{2, 33, 64}}) {
    const Array x = random_array(shape, 1), w = random_array({shape.back()}, 2);
    const Array squares = fold(map(x, [](double v) { return v * v; }), -1, 0, plus);
    const Array want = generate(shape, [&](const Shape& i) {
      return x.at(i) / std::sqrt(squares.at(i) / double(shape.back()) + 1e-5) * w.at(i);
    });
    // Half of the sum's 8 ulp, the root's 2, and five roundings; an ulp of the result may be twice as large.
    expect("rms_norm", rms_norm(upload(x), upload(w)), want, {16});
  }
}

TEST_P(Reduce, SiluFromDeepBelowZeroToFarAbove) {
  const Array x = random_array({3, 100}, 1, -100, 100), small = random_array({65}, 2, -3, 3);
  const auto silu_of = [](double v) { return v / (1 + std::exp(-v)); };
  // Of exp 2 ulp, the reciprocal 2, the sum and the product 1. Below -87 the reciprocal is a denormal, which is zero.
  expect("wide", silu(upload(x)), map(x, silu_of), {8, 100 * 0x1p-126});
  expect("small", silu(upload(small)), map(small, silu_of), {8});
}

}  // namespace
}  // namespace baretile::tensor_test
