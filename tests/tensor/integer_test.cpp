// Reductions and composites of integers and booleans against int64 on the host, modulo 2^32.
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

constexpr DType kBoolean = DType::boolean, kUint = DType::uint32, kInt = DType::int32;

class Integers : public OnDevice {
 protected:
  static Array words(const Shape& shape, DType dtype, u32 seed = 1) {
    std::mt19937 random(seed);
    Array out = generate(shape, [&](const Shape&) {
      const u32 word = random() >> random() % 32;
      return dtype == kBoolean ? word % 2 : dtype == kUint ? double(word) : double(i32(random() % 2 ? word : ~word));
    });
    if (dtype == kInt && out.values.size() > 4) out.values[1] = INT32_MIN, out.values[3] = INT32_MAX;
    if (dtype == kUint && out.values.size() > 4) out.values[1] = UINT32_MAX, out.values[3] = 0;
    return out;
  }
};
ON_EACH_DEVICE(Integers);

double word_of(u64 bits, DType dtype) { return dtype == kUint ? double(u32(bits)) : double(i32(u32(bits))); }
u64 bits_of(double value) { return u64(i64(value)); }

// f over some axes on 64-bit words.
template <class F>
Array folded(const Array& x, std::vector<bool> axes, bool keepdims, DType dtype, u64 start, F f) {
  Shape kept = x.shape, dropped;
  for (size_t axis = 0; axis < kept.size(); ++axis) {
    if (axes[axis]) kept[axis] = 1;
    if (!axes[axis] || keepdims) dropped.push_back(kept[axis]);
  }
  std::vector<u64> sums;
  generate(kept, [&](const Shape&) { return sums.push_back(start), 0; });
  generate(x.shape, [&](const Shape& index) {
    size_t element = 0;
    for (size_t axis = 0; axis < kept.size(); ++axis)
      element = element * size_t(kept[axis]) + size_t(axes[axis] ? 0 : index[axis]);
    sums[element] = f(sums[element], bits_of(x.at(index)));
    return 0;
  });
  Array out{dropped, {}};
  for (const u64 sum : sums) out.values.push_back(word_of(sum, dtype));
  return out;
}

u64 wrapping_plus(u64 a, u64 b) { return a + b; }
u64 times(u64 a, u64 b) { return u32(a * b); }
u64 larger_integer(u64 a, u64 b) { return u64(std::max(i64(a), i64(b))); }
u64 smaller(u64 a, u64 b) { return u64(std::min(i64(a), i64(b))); }

TEST_P(Integers, ReductionsOverOneSeveralAndAllAxes) {
  for (const DType dtype : {kInt, kUint, kBoolean}) {
    const DType counted = dtype == kBoolean ? kInt : dtype;
    for (const Shape& shape : {Shape{65}, Shape{33, 5}, Shape{1, 31}, Shape{3, 7, 34}, Shape{2, 2, 3, 2, 5}}) {
      if (dtype == kBoolean && shape.size() % 2) continue;
      const Array x = words(shape, dtype);
      const Tensor input = upload(x, dtype);
      Cases cases;
      for (u32 mask = 1; mask<1u << shape.size(); mask += shape.size()> 3 ? 11 : shape.size()) {
        std::vector<bool> wanted;
        std::vector<i64> axes;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
          wanted.push_back(mask >> axis & 1);
          if (wanted.back()) axes.push_back(mask % 2 ? i64(axis) : i64(axis) - i64(shape.size()));
        }
        const bool keepdims = mask % 4 < 2;
        const auto add = [&](const char* name, Tensor (*op)(const Tensor&, const std::vector<i64>&, bool), DType out,
                             u64 start, u64 (*fold)(u64, u64)) {
          cases.add(fmt::format("{} of {} over {}", name, compiler::to_string(dtype), testing::PrintToString(axes)),
                    op(input, axes, keepdims), folded(x, wanted, keepdims, out, start, fold));
          EXPECT_EQ(cases.got.back().dtype(), out) << name;
        };
        const DType extreme = dtype == kBoolean ? kBoolean : dtype;
        add("sum", sum, counted, 0, wrapping_plus);
        add("prod", prod, counted, 1, times);
        add("max", max, extreme, u64(INT64_MIN), larger_integer);
        add("min", min, extreme, INT64_MAX, smaller);
      }
      const std::vector<bool> every(shape.size(), true);
      cases.add("sum of all", sum(input), folded(x, every, false, counted, 0, wrapping_plus));
      cases.check();
    }
  }
}

TEST_P(Integers, ExtremesOfExtremes) {
  const std::vector<i32> low(40, INT32_MIN), high(40, INT32_MAX);
  const Tensor x = Tensor::from_host(runtime(), low, {40}), y = Tensor::from_host(runtime(), high, {40});
  EXPECT_EQ(max(x).to_host_int32(), std::vector<i32>{INT32_MIN}) << "no zero and no identity of the padding wins";
  EXPECT_EQ(min(y).to_host_int32(), std::vector<i32>{INT32_MAX});
  const std::vector<u32> most(40, UINT32_MAX), none(40, 0);
  EXPECT_EQ(min(Tensor::from_host(runtime(), most, {40})).to_host_uint32(), std::vector<u32>{UINT32_MAX});
  EXPECT_EQ(max(Tensor::from_host(runtime(), none, {40})).to_host_uint32(), std::vector<u32>{0});
  EXPECT_EQ(sum(y).to_host_int32(), std::vector<i32>{i32(u32(40) * u32(INT32_MAX))});
}

TEST_P(Integers, AnyAndAll) {
  Cases cases;
  for (const Shape& shape : {Shape{33}, Shape{3, 65}, Shape{40, 2}}) {
    Array x = map(words(shape, kInt, 4), [](double v) { return std::fmod(v, 3) == 0 ? 0 : v; });
    for (size_t n = 0; n < size_t(shape.back()); ++n) x.values[n] = shape.size() == 2 ? 0 : 1;
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      const Array truth = map(x, [](double v) { return v != 0; });
      const Array some = fold(truth, axis, 0, [](double a, double b) { return std::max(a, b); }),
                  every = fold(truth, axis, 1, [](double a, double b) { return std::min(a, b); });
      cases.add("any", any(upload(x, kInt), axis, true), some);
      cases.add("all", all(upload(x, kInt), axis, true), every);
      cases.add("any of booleans", any(upload(truth, kBoolean), axis, true), some);
      cases.add("all of booleans", all(upload(truth, kBoolean), axis, true), every);
      cases.add("all of floats", all(upload(truth), axis, true), every);
    }
  }
  for (const Tensor& result : cases.got) EXPECT_EQ(result.dtype(), kBoolean);
  cases.check();
}

TEST_P(Integers, CompositesKeepWholeWords) {
  for (const DType dtype : {kInt, kUint}) {
    const Array x = words({5, 34}, dtype), y = words({5, 34}, dtype, 2), mask = words({5, 34}, kBoolean, 3);
    const Tensor a = upload(x, dtype), b = upload(y, dtype), m = upload(mask, kBoolean);
    const auto each = [&](auto f) {
      return generate(x.shape,
                      [&](const Shape& i) { return word_of(f(bits_of(x.at(i)), bits_of(y.at(i)), i), dtype); });
    };
    Cases cases;
    cases.add("fma", a * b + a, each([](u64 p, u64 q, const Shape&) { return p * q + p; }));
    cases.add("by a negative number", b * -3, map(y, [](double v) { return word_of(bits_of(v) * u64(-3), kInt); }));
    cases.add("clamp", clamp(a, 5, 100000), map(x, [](double v) { return std::clamp(v, 5.0, 100000.0); }));
    cases.add("masked_fill", masked_fill(a, m, 7),
              generate(x.shape, [&](const Shape& i) { return mask.at(i) ? 7 : x.at(i); }));
    cases.add("tril", tril(a, 1), generate(x.shape, [&](const Shape& i) { return i[1] - i[0] <= 1 ? x.at(i) : 0; }));
    cases.add("triu", triu(a, -2), generate(x.shape, [&](const Shape& i) { return i[1] - i[0] >= -2 ? x.at(i) : 0; }));
    for (const i64 axis : {0, 1}) {
      cases.add("cumsum", cumsum(a, axis), generate(x.shape, [&](const Shape& i) {
                  u64 total = 0;
                  for (i64 k = 0; k <= i[size_t(axis)]; ++k) total += bits_of(x.at(with(i, axis, k)));
                  return word_of(total, dtype);
                }));
    }
    cases.add("negated", -a, map(x, [&](double v) { return word_of(u64(-i64(v)), dtype); }));
    cases.check();
  }
}

TEST_P(Integers, CountsOfBooleans) {
  const Array x = words({33, 65}, kBoolean);
  const auto plus_one = [](double a, double b) { return a + b; };
  Cases cases;
  const Array rows = fold(x, 1, 0, plus_one);
  cases.add("row counts", sum(upload(x, kBoolean), 1, true), rows);
  cases.add("cumulative", cumsum(upload(x, kBoolean), 1), generate(x.shape, [&](const Shape& i) {
              double total = 0;
              for (i64 k = 0; k <= i[1]; ++k) total += x.at(with(i, 1, k));
              return total;
            }));
  cases.add("mean", mean(upload(x, kBoolean), 1, true), map(rows, [](double v) { return v / 65; }), {4});
  cases.check();
}

// The place of the first element that nothing beats.
template <class Better>
Array first_best(const Array& x, i64 axis, Better better) {
  return generate(with(x.shape, axis, 1), [&](const Shape& index) {
    i64 best = 0;
    for (i64 k = 1; k < x.shape[size_t(axis)]; ++k) {
      if (better(x.at(with(index, axis, k)), x.at(with(index, axis, best)))) best = k;
    }
    return double(best);
  });
}

TEST_P(Integers, ArgmaxAndArgminTakeTheFirst) {
  Cases cases;
  for (const DType dtype : {kInt, kUint, kBoolean}) {
    Array x = words({5, 37}, dtype);
    if (dtype != kBoolean) {
      for (size_t n = 0; n < 37; ++n) x.values[37 + n] = dtype == kInt ? -0x1p31 : 0x1p32 - 1;  // all equal
      for (size_t n = 0; n < 37; ++n) x.values[74 + n] = std::fmod(double(n), 4);
    }
    for (const i64 axis : {0, 1}) {
      cases.add("argmax", argmax(upload(x, dtype), axis, true), first_best(x, axis, std::greater<double>()));
      cases.add("argmin", argmin(upload(x, dtype), axis, true), first_best(x, axis, std::less<double>()));
      EXPECT_EQ(cases.got.back().dtype(), kInt);
    }
  }
  cases.check();
}

TEST_P(Integers, SortingGatheringAndScatteringWholeWords) {
  for (const DType dtype : {kInt, kUint}) {
    const Array x = words({3, 35}, dtype);
    Array places = words({3, 9}, kUint, 5);
    places = map(places, [](double v) { return std::fmod(v, 35); });
    Array order = generate(x.shape, [](const Shape& i) { return double(i[1]); });
    for (size_t row = 0; row < 3; ++row) {
      const auto begin = order.values.begin() + i64(row * 35);
      std::stable_sort(begin, begin + 35, [&](double a, double b) {
        return x.values[row * 35 + size_t(a)] < x.values[row * 35 + size_t(b)];
      });
    }
    Cases cases;
    cases.add("argsort", argsort(upload(x, dtype)), order);
    cases.add("gather", gather(upload(x, dtype), upload(places, kInt)), generate(places.shape, [&](const Shape& i) {
                return x.at({i[0], i64(places.at(i))});
              }));
    const Array values = words({3, 9}, dtype, 6);
    Array want = x;
    generate(places.shape, [&](const Shape& i) {
      double& to = want.values[size_t(i[0] * 35 + i64(places.at(i)))];
      to = word_of(bits_of(to) + bits_of(values.at(i)), dtype);
      return 0;
    });
    cases.add("scatter_add", scatter_add(upload(x, dtype), upload(places, kInt), upload(values, dtype)), want);
    for (const Tensor& result : cases.got) EXPECT_TRUE(result.dtype() == (&result == &cases.got[0] ? kInt : dtype));
    cases.check();
  }
}

TEST_P(Integers, OneHotOfEveryDtype) {
  const Array classes{{2, 3}, {0, 4, 32, 1, 1, 7}};
  const Array want = generate({2, 3, 33}, [&](const Shape& i) { return classes.at({i[0], i[1]}) == double(i[2]); });
  Cases cases;
  for (const DType dtype : {kBoolean, kUint, kInt, bf16, fp32}) {
    cases.add("one_hot", one_hot(upload(classes, kInt), 33, dtype), want);
    EXPECT_EQ(cases.got.back().dtype(), dtype);
  }
  cases.add("by uint32", one_hot(upload(classes, kUint), 33), want);
  cases.check();
}

// What a loop over 32-bit words gives.
Array word_product(const Array& x, const Array& y, const Shape& shape, DType dtype) {
  return generate(shape, [&](const Shape& index) {
    u64 sum = 0;
    for (i64 k = 0; k < x.shape.back(); ++k)
      sum += bits_of(x.at(with(index, -1, k))) * bits_of(y.at(with(index, -2, k)));
    return word_of(sum, dtype);
  });
}

TEST_P(Integers, ProductsOfMatricesWrap) {
  Cases cases;
  const auto add = [&](const Shape& left, DType left_type, const Shape& right, DType right_type, const Shape& out) {
    const DType dtype =
        std::max({left_type, right_type, left_type == right_type && left_type == kBoolean ? kInt : kBoolean});
    const Array x = words(left, left_type, u32(cases.got.size())), y = words(right, right_type, 50);
    cases.add("product", matmul(upload(x, left_type), upload(y, right_type)), word_product(x, y, out, dtype));
    EXPECT_EQ(cases.got.back().dtype(), dtype);
  };
  add({33, 65}, kInt, {65, 40}, kInt, {33, 40});
  add({33, 65}, kUint, {65, 40}, kUint, {33, 40});
  add({1, 70}, kInt, {70, 33}, kUint, {1, 33});
  add({2, 3, 31}, kInt, {2, 31, 5}, kInt, {2, 3, 5});
  add({5, 1}, kInt, {1, 33}, kInt, {5, 33});
  add({3, 0}, kUint, {0, 5}, kUint, {3, 5});
  add({2, 40}, kBoolean, {40, 7}, kInt, {2, 7});
  add({3, 300}, kBoolean, {300, 40}, kBoolean, {3, 40});
  add({5, 1}, kBoolean, {1, 6}, kBoolean, {5, 6});
  cases.check();
}

TEST_P(Integers, LongProductsAreExactAtTheExtremes) {
  Cases cases;
  for (const double value : {double(INT32_MIN), double(INT32_MAX), -1.0}) {
    const i64 k = 8001;  // of -1, whose digits are the largest, a sum above 2^24 and odd
    const Array x = generate({2, k}, [&](const Shape&) { return value; }), turned{{k, 2}, x.values};
    cases.add("product", matmul(upload(x, kInt), upload(x, kInt).transpose()), word_product(x, turned, {2, 2}, kInt));
  }
  cases.check();
}

TEST_P(Integers, ProductsOfTransposedOperandsVectorsAndWithFloats) {
  Cases cases;
  const Array x = words({35, 33}, kInt, 3), y = words({40, 35}, kInt, 4), v = words({35}, kInt, 5);
  const Array turned = generate({33, 35},
                                [&](const Shape&i) {
                                  return x.at({i[1], i[0]});
                                }),
              right = generate({35, 40}, [&](const Shape&i) {
                return y.at({i[1], i[0]});
              });
  cases.add("transposed", matmul(upload(x, kInt).transpose(), upload(y, kInt).transpose()),
            word_product(turned, right, {33, 40}, kInt));
  Array inner = word_product({{1, 35}, v.values}, {{35, 1}, v.values}, {1, 1}, kInt);
  inner.shape = {};
  cases.add("vectors", matmul(upload(v, kInt), upload(v, kInt)), inner);
  Array sums = word_product({{1, 35}, v.values}, x, {1, 33}, kInt);
  sums.shape = {33};
  cases.add("einsum", einsum("a,ab->b", {upload(v, kInt), upload(x, kInt)}), sums);
  const Array small = map(x, [](double n) { return std::fmod(n, 9); }), eights = eighths({40, 35}, 6);
  for (const DType dtype : {kInt, kBoolean})
    for (const DType with : {fp32, bf16}) {
      const Array left = dtype == kInt ? small : map(small, [](double n) { return n != 0; });
      const Array want = product(eights, left, {40, 33});
      if (with == bf16 && dtype == kInt) continue;  // sums that bf16 rounds
      cases.add("floats", matmul(upload(eights, with).cast(fp32), upload(left, dtype)), want);
      EXPECT_EQ(cases.got.back().dtype(), fp32);
    }
  cases.check();
}

}  // namespace
}  // namespace baretile::tensor_test
