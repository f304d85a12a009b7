// Block formats: host and device agree on every bit, and all else reads them exactly.
#include <cfloat>

#include "tensor/format.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

constexpr DType bfp4 = DType::bfp4, bfp8 = DType::bfp8;

class Blocks : public OnDevice {
 protected:
  static std::vector<std::byte> pages_of(Tensor x) {
    x.realize();
    const DeviceBuffer& storage = x.expr()->storage;
    std::vector<std::byte> pages(storage.bytes());
    runtime().read_pages(storage, 0, pages);
    return pages;
  }
  static std::vector<std::byte> encoded(const std::vector<float>& values, const Shape& shape, DType dtype) {
    PageFormat format(shape, dtype);
    std::vector<std::byte> pages(format.pages() * format.page_bytes());
    format.encode(values, 0, pages);
    return pages;
  }
  // Blocks near to each other and far apart in magnitude, ties, zeros, the ends of the range.
  static std::vector<float> varied(const Shape& shape, u32 seed) {
    std::vector<float> values(size_t(compiler::element_count(shape)));
    std::mt19937 random(seed);
    for (size_t n = 0; n < values.size(); ++n) {
      const u32 block = u32(n / 16), kind = block % 8;
      const int exponent = kind == 0 ? 0 : kind == 1 ? int(random() % 20) - 10 : kind == 2 ? -120 : kind == 3 ? 95 : 3;
      values[n] = std::ldexp(float(i32(random() & 0xFFFF'FF00)), exponent - 31);
      if (kind == 4) values[n] = float(i32(random() % 129) - 64) / 16;  // ties
      if (kind == 5 && random() % 3) values[n] = 0;
      if (kind == 6) values[n] = std::bit_cast<float>(u32(random()) & 0xBFFF'FFFF);  // any exponent up to 2^1
    }
    const float ends[] = {FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 1e-40f, -0.0f, 1, 1.9375f, 1.99f, 0x1.FEp0f, 0x1.FFp0f};
    for (size_t n = 0; n < std::size(ends); ++n) values[(n * 37) % values.size()] = ends[n];
    return values;
  }
};
ON_EACH_DEVICE(Blocks);

TEST_P(Blocks, TheDeviceStoresWhatTheHostStores) {
  for (const Shape& shape : {Shape{33, 40}, {64, 96}, {2, 37, 70}, {40, 1}}) {
    const std::vector<float> values = varied(shape, u32(shape.size() + size_t(shape.back())));
    const Tensor x = Tensor::from_host(runtime(), values, shape);
    Tensor eight = x.cast(bfp8), four = x.cast(bfp4);
    realize({eight, four});
    for (Tensor& y : {std::ref(eight), std::ref(four)}) {
      const std::vector<std::byte> got = pages_of(y), want = encoded(values, shape, y.dtype());
      ASSERT_EQ(got.size(), want.size());
      const size_t differ = size_t(std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
      EXPECT_EQ(got, want) << compiler::to_string(y.dtype()) << " " << compiler::to_string(shape) << " from byte "
                           << differ;
      EXPECT_EQ(pages_of(Tensor::from_host(runtime(), values, shape, y.dtype())), want);
    }
  }
}

TEST_P(Blocks, InfinitiesAndNaNsAreStoredAlike) {
  std::vector<float> values = varied({32, 32}, 5);
  for (size_t n = 0; n < values.size(); n += 48) values[n] = n % 3 ? INFINITY : std::bit_cast<float>(0x7FC00000);
  const Tensor x = Tensor::from_host(runtime(), values, {32, 32});
  for (const DType dtype : {bfp4, bfp8}) EXPECT_EQ(pages_of(x.cast(dtype)), encoded(values, {32, 32}, dtype));
}

TEST_P(Blocks, ValuesThatFitComeBackThroughEveryDtype) {
  const Array x = generate({37, 70}, [](const Shape& i) { return double((i[0] * 5 + i[1]) % 8); });
  Cases cases;
  for (const DType block : {bfp4, bfp8}) {
    const Tensor stored_ones = upload(x, block);
    EXPECT_EQ(stored_ones.to_host(), x.floats());
    for (const DType other : {fp32, bf16, DType::int32, DType::uint32, DType::boolean}) {
      const Array truth = generate(x.shape, [&](const Shape& i) { return double(x.at(i) != 0); });
      cases.add("from", stored_ones.cast(other), other == DType::boolean ? truth : x);
      const Tensor back = upload(other == DType::boolean ? truth : x, other).cast(block);
      EXPECT_EQ(back.to_host(), (other == DType::boolean ? truth : x).floats());
    }
    EXPECT_EQ(upload(x, block == bfp4 ? bfp8 : bfp4).cast(block).to_host(), x.floats());
  }
  cases.check();
}

TEST_P(Blocks, ArithmeticReadsThemExactlyAndGivesBf16) {
  const Shape shape{37, 70};
  const Array x = stored(random_array(shape, 1), bfp8), y = stored(random_array(shape, 2), bfp4),
              row = random_array({70}, 3), z = random_array(shape, 4);
  const Tensor a = upload(x, bfp8), b = upload(y, bfp4);
  EXPECT_EQ((a + b).dtype(), bf16);
  EXPECT_EQ((a + 0.1).dtype(), bf16);
  EXPECT_EQ((a * upload(z)).dtype(), fp32);
  EXPECT_EQ((a < b).dtype(), DType::boolean);
  EXPECT_EQ(sum(a, 1).dtype(), bf16);
  EXPECT_EQ((upload(generate({37, 70}, [](const Shape&) { return 3.0; }), DType::int32) + a).dtype(), bf16);
  Cases cases;
  const Tensor fp = a.cast(fp32);
  cases.add("a + b", fp + b, generate(shape, [&](const Shape& i) { return x.at(i) + y.at(i); }));
  cases.add("a * z", a * upload(z), generate(shape, [&](const Shape& i) { return x.at(i) * z.at(i); }));
  cases.add("with bf16", fp - upload(y, bf16), generate(shape, [&](const Shape& i) { return x.at(i) - y.at(i); }));
  cases.add("with a row", fp * upload(row), generate(shape, [&](const Shape& i) { return x.at(i) * row.at({i[1]}); }));
  cases.add("product of both", a * b, generate(shape, [&](const Shape& i) { return x.at(i) * y.at(i); }));
  cases.add("sum", sum(fp, 1),
            generate({37},
                     [&](const Shape& i) {
                       double total = 0;
                       for (i64 c = 0; c < 70; ++c) total += x.at({i[0], c});
                       return total;
                     }),
            {64});
  cases.check();
}

TEST_P(Blocks, ViewsAndMovesAreOfTheirValues) {
  const Array x = stored(random_array({38, 70}, 1), bfp8);
  const Tensor a = upload(x, bfp8);
  const auto at = [&](auto index) { return [&x, index](const Shape& i) { return x.at(index(i)); }; };
  using I = const Shape&;
  Cases cases;
  cases.add("itself", a.cast(bf16), x);
  EXPECT_EQ(launches([&] { a.cast(bf16).realize(); }), 1u);
  cases.add("transposed", a.transpose(), generate({70, 38}, at([](I i) { return Shape{i[1], i[0]}; })));
  cases.add("rows", a.slice(0, 32, 38), generate({6, 70}, at([](I i) { return Shape{i[0] + 32, i[1]}; })));
  cases.add("odd part", a.slice(0, 3, 30).slice(1, 5, 50), generate({27, 45}, at([](I i) {
                                                                      return Shape{i[0] + 3, i[1] + 5};
                                                                    })));
  cases.add("one row", a.slice(0, 7, 8), generate({1, 70}, at([](I i) { return Shape{7, i[1]}; })));
  cases.add("reshaped", a.reshape({19, 140}), generate({19, 140}, at([](I i) {
                                                         return Shape{i[0] * 2 + i[1] / 70, i[1] % 70};
                                                       })));
  cases.add("concat", concat({a, a}, 0), generate({76, 70}, at([](I i) { return Shape{i[0] % 38, i[1]}; })));
  cases.add("gather", gather_rows(a, indices({37, 0, 5})),
            generate({3, 70}, at([](I i) {
                       return Shape{i[0] == 0 ? 37 : i[0] == 1 ? 0 : 5, i[1]};
                     })));
  cases.add("repeated", a.expand({2, 38, 70}), generate({2, 38, 70}, at([](I i) { return Shape{i[1], i[2]}; })));
  cases.add("padded", a.pad(0, 1, 0, 9), generate({39, 70}, [&](I i) {
              return i[0] == 0 ? 9 : x.at({i[0] - 1, i[1]});
            }));
  cases.add("with bf16", concat({a.transpose(), upload(x, bf16).transpose()}, 0),
            generate({140, 38}, at([](I i) {
                       return Shape{i[1], i[0] % 70};
                     })));
  cases.check();
  Tensor target = a;
  const Array fives = generate({1, 70}, [](I) { return 5.0; });
  EXPECT_THROW(target.assign_rows(indices({2}), upload(fives, bfp8)), Unsupported);
  target.assign(0, 2, upload(fives));
  EXPECT_EQ(target.dtype(), bfp8);
  EXPECT_EQ(target.slice(0, 2, 3).to_host(), fives.floats());
  EXPECT_EQ(target.slice(0, 3, 38).to_host(), a.slice(0, 3, 38).to_host());
  EXPECT_EQ(a.to_host(), x.floats());
}

TEST_P(Blocks, ProductsTakeThemAsTheyAre) {
  struct Case {
    Shape left, right, out;
    DType left_type, right_type;
    bool transposed = false;
    u64 launches = 1;
  };
  std::vector<Case> cases;
  for (const DType right : {bfp4, bfp8}) {
    for (const DType left : {bf16, fp32}) {  // fp32 is split in two bf16 by a launch of its own
      for (const i64 rows : {1, 33}) {
        cases.push_back({{rows, 70}, {70, 40}, {rows, 40}, left, right, false, left == fp32 ? 2u : 1u});
        cases.push_back({{rows, 70}, {40, 70}, {rows, 40}, left, right, true, left == fp32 ? 2u : 1u});
      }
    }
    cases.push_back({{65, 200}, {200, 96}, {65, 96}, bfp8, right});
    cases.push_back({{40, 64}, {64, 64}, {40, 64}, right, bf16});
    cases.push_back({{40, 64}, {64, 64}, {40, 64}, right, fp32, false, 2});
    cases.push_back({{2, 33, 64}, {64, 32}, {2, 33, 32}, bf16, right});
  }
  for (size_t n = 0; n < cases.size(); ++n) {
    const Case& c = cases[n];
    const Array x = stored(random_array(c.left, u32(n)), c.left_type),
                w = stored(random_array(c.right, u32(n + 50)), c.right_type);
    Array y = w;
    if (c.transposed) y = generate({w.shape[1], w.shape[0]}, [&](const Shape& i) { return w.at({i[1], i[0]}); });
    const Tensor left = upload(x, c.left_type), right = upload(w, c.right_type);
    Tensor got = matmul(left, c.transposed ? right.transpose() : right);
    EXPECT_EQ(got.dtype(), c.left_type == fp32 || c.right_type == fp32 ? fp32 : bf16);
    EXPECT_EQ(launches([&] { got.realize(); }), c.launches) << "case " << n << ": nothing is converted in memory";
    const Array want = product(x, y, c.out);
    const bool tf32 = c.right_type == fp32;
    expect(fmt::format("case {}", n), got, want,
           {0, (tf32                  ? 2e-3
                : c.left_type == fp32 ? 6e-4
                                      : 4e-4) *
                   largest(want)});
  }
}

TEST_P(Blocks, OneLeftOperandMeetsRightOnesOfEveryFormat) {
  for (const i64 rows : {1, 33}) {
    for (const DType type : {bf16, fp32}) {
      const Array x = stored(random_array({rows, 70}, 1), type);
      const Tensor left = upload(x, type);
      Cases cases;
      for (const DType right : {bfp4, bfp8, bf16}) {
        const Array y = stored(random_array({70, 40}, 2), right), want = product(x, y, {rows, 40});
        cases.add(compiler::to_string(right), matmul(left, upload(y, right)), want, {0, 6e-4 * largest(want)});
      }
      cases.check();
      const Array a = stored(random_array({70, 40}, 2), bfp4), b = stored(random_array({70, 40}, 3), bfp8);
      const Array both = generate({70, 40}, [&](const Shape& i) { return a.at(i) + b.at(i); });
      const Array want = product(x, both, {rows, 40});
      expect("sum of two products", matmul(left, upload(a, bfp4)) + matmul(left, upload(b, bfp8)), want,
             {0, 1.2e-3 * largest(want)});
    }
  }
}

TEST_P(Blocks, ResultsAreStoredInThemByTheKernelThatComputes) {
  const Array x = random_array({33, 64}, 1), w = random_array({64, 40}, 2);
  Tensor y = matmul(upload(x, bf16), upload(w, bf16)), plain = y.cast(fp32), eight = y.cast(bfp8), four = y.cast(bfp4);
  EXPECT_EQ(launches([&] { realize({plain, eight, four}); }), 1u) << "of one product three formats";
  const std::vector<float> values = plain.to_host();
  EXPECT_EQ(pages_of(eight), encoded(values, {33, 40}, bfp8));
  EXPECT_EQ(pages_of(four), encoded(values, {33, 40}, bfp4));
  const Tensor shifted = (upload(x) + 1).cast(bfp4);  // what lies beyond the matrix is 1 before it is stored
  Array sum = generate(x.shape, [&](const Shape& i) { return double(float(x.at(i)) + 1.0f); });
  EXPECT_EQ(pages_of(shifted), encoded(sum.floats(), x.shape, bfp4));
}

TEST_P(Blocks, LaterReadersSeeWhatWasStored) {
  const Array x = random_array({33, 40}, 1);
  for (const DType dtype : {bfp4, bfp8}) {
    const Array kept = stored(x, dtype);
    const Tensor a = upload(x), rounded = a.cast(dtype), rest = a - rounded;
    const Tensor across = rounded.transpose().cast(fp32) + 1.0;
    Cases cases;
    cases.add("rest", rest, generate(x.shape, [&](const Shape& i) { return float(x.at(i)) - kept.at(i); }));
    cases.add("across", across, generate({40, 33}, [&](const Shape& i) { return kept.at({i[1], i[0]}) + 1; }));
    cases.check();
  }
}

TEST_P(Blocks, RowsOnTheirOwnAreRefused) {
  const Array row = random_array({1, 70}, 1);
  EXPECT_THROW(upload(row, bfp8), Unsupported);
  EXPECT_THROW(upload(row).cast(bfp4), Unsupported);
  EXPECT_THROW(Tensor::zeros(runtime(), {70}, bfp8), Unsupported);
  EXPECT_THROW(Tensor::placeholder({3, 1, 70}, bfp8), Unsupported);
  EXPECT_THROW(Tensor::full(runtime(), {}, 1, bfp8), Unsupported);
  EXPECT_EQ(Tensor::full(runtime(), {2, 3}, 1.3, bfp4).to_host(), std::vector<float>(6, 1.25f));
  EXPECT_EQ(Tensor::zeros(runtime(), {2, 3}, bfp8).to_host(), std::vector<float>(6, 0.0f));
}

TEST_P(Blocks, GradientsOfThemAreBf16) {
  const Array x = eighths({33, 64}, 1), w = eighths({64, 40}, 2);
  const Tensor a = upload(x, bf16), b = upload(w, bfp8);
  const std::vector<Tensor> g = grad(sum(matmul(a, b).cast(fp32)), std::vector<Tensor>{a, b});
  EXPECT_EQ(g[1].dtype(), bf16);
  const Array ones = generate({33, 40}, [](const Shape&) { return 1.0; }),
              turned = generate({64, 33}, [&](const Shape&i) {
                return x.at({i[1], i[0]});
              });
  const Array want = product(turned, ones, {64, 40});
  expect("weights", g[1], want, {0, 4e-4 * largest(want)});
}

}  // namespace
}  // namespace baretile::tensor_test
