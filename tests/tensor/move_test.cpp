// Operations that only bring elements elsewhere: every bit arrives, whatever it means.
#include <bit>
#include <numeric>

#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Moves : public OnDevice {
 protected:
  static void realize_and_expect(std::vector<std::pair<Tensor, Array>> cases) {
    std::vector<Tensor> outputs;
    for (const auto& [tensor, want] : cases) outputs.push_back(tensor);
    realize(outputs);
    for (size_t n = 0; n < cases.size(); ++n) expect(fmt::format("case {}", n), cases[n].first, cases[n].second);
  }
  static Array reshaped(Array x, Shape shape) {
    x.shape = std::move(shape);
    return x;
  }
};
ON_EACH_DEVICE(Moves);

TEST_P(Moves, TransposeAndPermuteAtOddShapes) {
  std::vector<std::pair<Tensor, Array>> cases;
  for (const Shape& s : {Shape{33, 65}, Shape{1, 40}, Shape{40, 1}, Shape{31, 32}}) {
    const Array x = eighths(s, 1);
    cases.emplace_back(upload(x).transpose(), generate({s[1], s[0]}, [&](const Shape& i) {
                         return x.at({i[1], i[0]});
                       }));
  }
  const Array x = eighths({2, 3, 5, 33}, 1);
  Tensor t = upload(x);
  cases.emplace_back(t.permute({0, 2, 1, 3}), generate({2, 5, 3, 33}, [&](const Shape& i) {
                       return x.at({i[0], i[2], i[1], i[3]});
                     }));
  cases.emplace_back(t.permute({3, 1, 0, 2}), generate({33, 3, 2, 5}, [&](const Shape& i) {
                       return x.at({i[2], i[1], i[3], i[0]});
                     }));
  cases.emplace_back(t.permute({1, 0, 2, 3}), generate({3, 2, 5, 33}, [&](const Shape& i) {
                       return x.at({i[1], i[0], i[2], i[3]});
                     }));
  cases.emplace_back(upload(x, bf16).transpose(), generate({2, 3, 33, 5}, [&](const Shape& i) {
                       return x.at({i[0], i[1], i[3], i[2]});
                     }));
  realize_and_expect(cases);
}

TEST_P(Moves, ReshapeKeepsTheRowMajorOrder) {
  const Array x = eighths({6, 5, 33}, 1);
  std::vector<std::pair<Tensor, Array>> cases;
  for (const Shape& s : {Shape{990}, Shape{30, 33}, Shape{33, 30}, Shape{2, 3, 55, 3}, Shape{1, 990}, Shape{990, 1}}) {
    cases.emplace_back(upload(x).reshape(s), reshaped(x, s));
    cases.emplace_back(upload(x, bf16).reshape(s), reshaped(x, s));
  }
  cases.emplace_back(upload(x).reshape({-1, 3, 5, 11}), reshaped(x, {6, 3, 5, 11}));
  realize_and_expect(cases);
}

TEST_P(Moves, SliceAndFlipAnywhere) {
  const Array x = eighths({3, 70, 65}, 1);
  Tensor t = upload(x);
  const auto part = [&](Shape shape, i64 a, i64 b, i64 c) {
    return generate(shape, [&](const Shape& i) { return x.at({i[0] + a, i[1] + b, i[2] + c}); });
  };
  realize_and_expect({{t.slice(0, 1, 2), part({1, 70, 65}, 1, 0, 0)},
                      {t.slice(1, 32, 64), part({3, 32, 65}, 0, 32, 0)},
                      {t.slice(1, 5, 70), part({3, 65, 65}, 0, 5, 0)},
                      {t.slice(2, 31, 33), part({3, 70, 2}, 0, 0, 31)},
                      {t.slice(-1, 64, 65), part({3, 70, 1}, 0, 0, 64)},
                      {t.slice(-2, -1, 70), part({3, 1, 65}, 0, 69, 0)},
                      {t.slice(1, 3, 4).slice(2, 7, 60), part({3, 1, 53}, 0, 3, 7)},
                      {t.flip(0), generate(x.shape,
                                           [&](const Shape& i) {
                                             return x.at({2 - i[0], i[1], i[2]});
                                           })},
                      {t.flip(1), generate(x.shape,
                                           [&](const Shape& i) {
                                             return x.at({i[0], 69 - i[1], i[2]});
                                           })},
                      {t.flip(-1), generate(x.shape, [&](const Shape& i) {
                         return x.at({i[0], i[1], 64 - i[2]});
                       })}});
}

TEST_P(Moves, ConcatPutsPiecesEndToEnd) {
  const Array x = eighths({3, 5, 37}, 1), y = eighths({3, 5, 37}, 2), z = eighths({1, 33}, 3);
  Tensor a = upload(x), b = upload(y), row = upload(z);
  std::vector<std::pair<Tensor, Array>> cases;
  for (const i64 axis : {0, 1, 2}) {
    Shape shape = x.shape;
    const i64 extent = shape[size_t(axis)];
    shape[size_t(axis)] *= 3;
    cases.emplace_back(concat({a, b * 2, a}, axis), generate(shape, [&](const Shape& i) {
                         const i64 at = i[size_t(axis)], piece = at / extent;
                         const double v = (piece == 1 ? y : x).at(with(i, axis, at % extent));
                         return piece == 1 ? 2 * v : v;
                       }));
  }
  cases.emplace_back(concat({row, row, row}, 0), generate({3, 33}, [&](const Shape& i) { return z.at(i); }));
  cases.emplace_back(concat({row, row}, -1), generate({1, 66}, [&](const Shape& i) { return z.at({0, i[1] % 33}); }));
  cases.emplace_back(concat({row.reshape({33}), row.slice(1, 0, 1).reshape({1})}, 0),
                     generate({34}, [&](const Shape& i) {
                       return z.at({0, i[0] % 33});
                     }));
  realize_and_expect(cases);
}

TEST_P(Moves, GatherTakesRowsInAnyOrderAndOftenerThanOnce) {
  const Array table = eighths({40, 65}, 1), narrow = eighths({70, 3}, 2);
  const std::vector<i32> rows{39, 0, 7, 7, 33};
  Tensor index = indices(rows), one = indices({38});
  const auto taken = [&](const Array& from) {
    return generate({5, from.shape[1]}, [&](const Shape& i) { return from.at({rows[size_t(i[0])], i[1]}); });
  };
  std::vector<i32> many(65);
  std::iota(many.rbegin(), many.rend(), -25);
  for (i32& m : many) m = (m + 70) % 40;
  realize_and_expect({{gather_rows(upload(table), index), taken(table)},
                      {gather_rows(upload(table, bf16), index), taken(table)},
                      {gather_rows(upload(narrow), index), taken(narrow)},
                      {gather_rows(upload(table), one), generate({1, 65},
                                                                 [&](const Shape& i) {
                                                                   return table.at({38, i[1]});
                                                                 })},
                      {gather_rows(upload(table), indices(many)), generate({65, 65}, [&](const Shape& i) {
                         return table.at({many[size_t(i[0])], i[1]});
                       })}});
}

TEST_P(Moves, RopeTurnsPairsOfHalves) {
  for (const Shape& shape : {Shape{3, 5, 64}, Shape{2, 1, 64}, Shape{4, 6}}) {
    const i64 d = shape.back();
    const Array x = random_array(shape, 1), c = random_array({shape[shape.size() - 2], d}, 2, -1, 1),
                s = random_array(c.shape, 3, -1, 1);
    const auto other = [&](const Shape& i) { return x.at(with(i, -1, (i.back() + d / 2) % d)); };
    Tensor swapped = swap_halves(upload(x)), turned = rope(upload(x), upload(c), upload(s));
    realize({swapped, turned});
    expect("swap_halves", swapped, generate(shape, other));
    // Two products below 2 and their sum, half an ulp each.
    expect("rope", turned, generate(shape, [&](const Shape& i) { return x.at(i) * c.at(i) + other(i) * s.at(i); }),
           {0, 4 * 0x1p-23});
  }
}

TEST_P(Moves, CastsBothWays) {
  const Array x = random_array({33, 40}, 1);
  Tensor down = upload(x).cast(bf16), up = upload(x, bf16).cast(fp32), twice = (upload(x) * 1.5f).cast(bf16).cast(fp32);
  realize({down, up, twice});
  EXPECT_EQ(down.dtype(), bf16);
  EXPECT_EQ(up.dtype(), fp32);
  expect("down", down, x);
  expect("up", up, stored(x, bf16));
  expect("twice", twice, map(x, [](double v) { return 1.5 * v; }), {0, 0x1p-8 * 3});
  for (const float v : twice.to_host()) ASSERT_EQ(std::bit_cast<u32>(v) & 0xFFFF, 0u) << "rounded on the way";
}

TEST_P(Moves, EveryBitPatternSurvives) {
  const std::vector<u32> bits{0x80000000, 1, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001};
  std::vector<float> values(65 * 40);
  for (size_t n = 0; n < values.size(); ++n)
    values[n] = std::bit_cast<float>(bits[n % bits.size()] ^ u32(n / 520) << 3);
  Tensor x = Tensor::from_host(runtime(), values, {65, 40});
  const auto at = [&](i64 i, i64 j) { return std::bit_cast<u32>(values[size_t(i * 40 + j)]); };
  struct Case {
    const char* name;
    Tensor tensor;
    std::function<u32(i64)> want;
  };
  std::vector<Case> cases{
      {"transpose", x.transpose(), [&](i64 n) { return at(n % 65, n / 65); }},
      {"slice of pages", x.slice(0, 32, 65), [&](i64 n) { return at(32 + n / 40, n % 40); }},
      {"slice of one column", x.slice(1, 3, 4), [&](i64 n) { return at(n, 3); }},
      {"reshape", x.reshape({40, 65}), [&](i64 n) { return at(n / 40, n % 40); }},
      {"concat", concat({x, x}, 1), [&](i64 n) { return at(n / 80, n % 40); }},
      {"gather", gather_rows(x, indices({64, 1})), [&](i64 n) { return at(n / 40 ? 1 : 64, n % 40); }}};
  for (Case& c : cases) {
    const std::vector<float> got = c.tensor.to_host();
    u32 wrong = 0;
    for (size_t n = 0; n < got.size(); ++n) {
      const u32 g = std::bit_cast<u32>(got[n]), w = c.want(i64(n));
      if (g != w && ++wrong == 1)
        ADD_FAILURE() << fmt::format("{}: element {} is {:#x} instead of {:#x}", c.name, n, g, w);
    }
    EXPECT_EQ(wrong, 0u) << c.name;
  }
}

}  // namespace
}  // namespace baretile::tensor_test
