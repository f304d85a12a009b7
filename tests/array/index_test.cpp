// Division of integers, and choosing and writing by index, against the same in 64-bit integers.
#include "baretile/autograd.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Indices : public OnDevice {};
ON_EACH_DEVICE(Indices);

// NumPy's: rounded down, the rest with the divisor's sign, 0 for a divisor of 0.
i64 quotient(i64 x, i64 y) {
  if (y == 0) return 0;
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
i64 rest(i64 x, i64 y) { return y == 0 ? 0 : x - quotient(x, y) * y; }

// All pairs of awkward numbers, then random ones of every size.
template <class T>
std::pair<std::vector<T>, std::vector<T>> operands() {
  std::vector<T> edges;
  for (const u64 word : {0ull,          1ull,          2ull,          3ull,          7ull,          255ull,
                         4095ull,       4096ull,       65535ull,      65537ull,      0x7FFFFFull,   0x800000ull,
                         0xFFFFFFull,   0x1000001ull,  0x3FFFFFFFull, 0x7FFFFFFEull, 0x7FFFFFFFull, 0x80000000ull,
                         0x80000001ull, 0xFFFFFF00ull, 0xFFFFFFFEull, 0xFFFFFFFFull})
    edges.push_back(T(u32(word)));
  std::vector<T> x, y;
  for (const T a : edges)
    for (const T b : edges) x.push_back(a), y.push_back(b);
  std::mt19937 random(11);
  while (x.size() < 16384) {
    const T divisor = T(random() >> random() % 32);
    const u32 near = u32(divisor) * (random() >> random() % 32) + random() % 3 - 1;  // about a multiple
    x.push_back(T(random() % 2 ? near : random() >> random() % 32));
    y.push_back(random() % 2 ? divisor : T(0u - u32(divisor)));
  }
  return {x, y};
}

TEST_P(Indices, IntegersAreDividedExactly) {
  const auto [x, y] = operands<i32>();
  const i64 count = i64(x.size());
  const Tensor a = Tensor::from_host(runtime(), x, {count}), b = Tensor::from_host(runtime(), y, {count});
  const Tensor q = floor_divide(a, b), r = remainder(a, b);
  EXPECT_EQ(launches([&] { realize({q, r}); }), 1u);
  const std::vector<i32> quotients = q.to_host_int32(), rests = r.to_host_int32();
  u32 wrong = 0;
  for (size_t n = 0; n < x.size(); ++n) {
    const bool fits = quotients[n] == i32(quotient(x[n], y[n])) && rests[n] == i32(rest(x[n], y[n]));
    if (!fits && ++wrong < 4) ADD_FAILURE() << x[n] << " by " << y[n] << ": " << quotients[n] << ", " << rests[n];
  }
  EXPECT_EQ(wrong, 0u);
}

TEST_P(Indices, UnsignedIntegersAreDividedExactly) {
  const auto [x, y] = operands<u32>();
  const i64 count = i64(x.size());
  const Tensor a = Tensor::from_host(runtime(), x, {count}), b = Tensor::from_host(runtime(), y, {count});
  const Tensor q = floor_divide(a, b), r = remainder(a, b);
  realize({q, r});
  const std::vector<u32> quotients = q.to_host_uint32(), rests = r.to_host_uint32();
  u32 wrong = 0;
  for (size_t n = 0; n < x.size(); ++n) {
    const bool fits = quotients[n] == u32(quotient(x[n], y[n])) && rests[n] == u32(rest(x[n], y[n]));
    if (!fits && ++wrong < 4) ADD_FAILURE() << x[n] << " by " << y[n] << ": " << quotients[n] << ", " << rests[n];
  }
  EXPECT_EQ(wrong, 0u);
}

TEST_P(Indices, DivisionMeetsNumbersAndBroadcasts) {
  const Tensor x = Tensor::of(runtime(), {-7, 7, 100}, DType::int32);
  EXPECT_EQ(to_string(floor_divide(x, 3)), "[-3, 2, 33]");
  EXPECT_EQ(to_string(remainder(x, -3)), "[-1, -2, -2]");
  EXPECT_EQ(to_string(floor_divide(1000, x)), "[-143, 142, 10]");
  EXPECT_EQ(to_string(remainder(16777217, Tensor::of(runtime(), {2, 3}, DType::int32))), "[1, 2]");
  EXPECT_EQ(to_string(floor_divide(x, Tensor::of(runtime(), {{2}, {-2}}, DType::int32))),
            "[[-4, 3, 50], [3, -4, -50]]");
  EXPECT_EQ(to_string(floor_divide(x, 0)), "[0, 0, 0]");
  const Tensor truth = Tensor::of(runtime(), {1, 0}, DType::boolean);
  EXPECT_EQ(floor_divide(truth, truth).dtype(), DType::int32);
  EXPECT_EQ(floor_divide(x, 0.5).dtype(), fp32);
  EXPECT_EQ(to_string(floor_divide(x, 0.5)), "[-14, 14, 200]");
}

TEST_P(Indices, MeansAndNormsOfIntegersDoNotWrap) {
  const Tensor x = Tensor::of(runtime(), {{2000000000, 2000000000, 2000000000}}, DType::int32);
  EXPECT_EQ(mean(x, 1).to_host(), std::vector<float>{2e9f});
  EXPECT_EQ(mean(Tensor::of(runtime(), {4e9, 4e9}, DType::uint32), 0).to_host(), std::vector<float>{4e9f});
  const Tensor large = Tensor::of(runtime(), {100000, -100000}, DType::int32);
  EXPECT_EQ(gelu_tanh(large).to_host(), (std::vector<float>{100000, 0}));
  EXPECT_NEAR(rms_norm(large, Tensor::ones(runtime(), {2})).to_host()[0], 1, 1e-5);
  EXPECT_EQ(var(large, 0).to_host(), std::vector<float>{1e10f});
}

// One coordinate of an index replaced by what the index array says.
template <class F>
void for_each_target(const Array& index, i64 axis, F f) {
  generate(index.shape, [&](const Shape& i) { return f(i, with(i, axis, i64(index.at(i)))), 0; });
}

TEST_P(Indices, GatherAndScatterAlongEveryAxis) {
  Cases cases;
  for (const i64 axis : {-1, 0, 1}) {
    const Array x = eighths({5, 6, 7}, 1);
    const i64 extent = x.shape[size_t(axis < 0 ? 2 : axis)];
    u32 next = 5;
    const Array index = generate(with(x.shape, axis, 9), [&](const Shape&) {
      return double((next = next * 1103515245 + 12345) / 65536 % u32(extent));
    });
    const Array values = eighths(index.shape, 2);
    Array picked = index, written = x, grown = x;
    const auto place = [&](const Shape& at) { return size_t((at[0] * 6 + at[1]) * 7 + at[2]); };
    size_t n = 0;
    for_each_target(index, axis, [&](const Shape& i, const Shape& target) {
      picked.values[n++] = x.at(target);
      grown.values[place(target)] += values.at(i);
      written.values[place(target)] = values.at(i);  // of equal targets the last in the axis's order comes last
    });
    const Tensor input = upload(x), at = upload(index, DType::int32), v = upload(values);
    cases.add("gather", gather(input, at, axis), picked);
    cases.add("scatter", scatter(input, at, v, axis), written);
    cases.add("scatter_add", scatter_add(input, at, v, axis), grown);
  }
  const Array x = eighths({3, 4}, 3), places{{2, 2}, {11, 0, 5, 5}};
  cases.add("take", take(upload(x), upload(places, DType::int32)),
            map(places, [&](double at) { return x.values[size_t(at)]; }));
  cases.check();
}

TEST_P(Indices, ScatterKeepsItsDtypeAndHasGradients) {
  const Tensor x = Tensor::of(runtime(), {1, 2, 3, 4}), index = Tensor::of(runtime(), {2, 0, 2}, DType::int32);
  const Tensor values = Tensor::of(runtime(), {10, 20, 30});
  const Tensor out = scatter(x, index, values);
  EXPECT_EQ(to_string(out), "[20, 2, 30, 4]");
  EXPECT_EQ(scatter(x.cast(DType::int32), index, values).dtype(), DType::int32);
  const Tensor weight = Tensor::of(runtime(), {1, 10, 100, 1000});
  const std::vector<Tensor> grads = grad(sum(scatter(x, index, values) * weight), {x, values});
  EXPECT_EQ(to_string(grads[0]), "[0, 10, 0, 1000]");
  EXPECT_EQ(to_string(grads[1]), "[0, 1, 100]") << "what was overwritten has none";
}

TEST_P(Indices, BeyondTheEndIsWhatTheHeaderSays) {
  const Array x{{3, 2}, {1, 2, 3, 4, 5, 6}}, one{{4}, {2, 3, -1, INT32_MIN}};
  const Array places{{3, 3}, {1, 2, -1, 0, INT32_MAX, 1, -2, 2, 3}}, values{{3, 3}, {7, 8, 9, 7, 8, 9, 7, 8, 9}};
  const Tensor table = upload(x), index = upload(one, DType::int32), at = upload(places, DType::int32);
  Tensor written = upload(x);
  written.assign_rows(index, upload({{4, 2}, {7, 8, -1, -1, -2, -2, -3, -3}}));
  Cases cases;
  cases.add("gather_rows", gather_rows(table, index), {{4, 2}, {5, 6, 5, 6, 5, 6, 5, 6}});
  cases.add("index_select", table.index_select(1, index), {{3, 4}, {2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6}});
  cases.add("take", take(table, upload({{3}, {4, 6, -1}}, DType::int32)), {{3}, {5, 6, 6}});
  cases.add("gather", gather(table, at), {{3, 3}, {2, 0, 0, 3, 0, 4, 0, 0, 0}});
  cases.add("scatter", scatter(table, at, upload(values)), {{3, 2}, {1, 7, 7, 9, 5, 6}});
  cases.add("scatter_add", scatter_add(table, at, upload(values)), {{3, 2}, {1, 9, 10, 13, 5, 6}});
  cases.add("assign_rows", written, {{3, 2}, {1, 2, 3, 4, 7, 8}});
  cases.check();
}

}  // namespace
}  // namespace baretile::tensor_test
