// grad(): what is and is not differentiated, and rules in shapes of their own; tests/ops has every rule.
#include <gmock/gmock.h>

#include "baretile/error.h"
#include "support/message.h"
#include "tensor/derivative.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

TEST(Gradient, OfReductionsAlongEveryAxis) {
  for (const Shape& shape : {Shape{33}, Shape{31, 33}, Shape{1, 31}, Shape{3, 2, 31}, Shape{2, 3, 4, 5}})
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      const Array distinct = [&] {
        double n = 0;
        return generate(shape, [&](const Shape&) { return n += 1, std::fmod(0.37 * n, 1.0) + n * 1e-3; });
      }();
      check_derivatives("sum", {{distinct}}, [&](const Tensors& t) { return sum(t[0] * t[0], axis); });
      check_derivatives("max", {{distinct}}, [&](const Tensors& t) { return max(t[0] * t[0], axis, true); });
      check_derivatives("min", {{distinct}}, [&](const Tensors& t) { return min(t[0] * t[0], axis); });
      check_derivatives("prod", {{distinct}}, [&](const Tensors& t) { return prod(t[0] * 0.1 + 1, axis); });
      check_derivatives("mean", {{distinct}}, [&](const Tensors& t) { return mean(t[0] * t[0], axis); });
      check_derivatives("softmax", {{distinct}}, [&](const Tensors& t) { return softmax(t[0], axis); });
    }
}

TEST(Gradient, EqualElementsShareTheirMaximum) {
  const Tensor x = Tensor::placeholder({2, 4}), y = Tensor::placeholder({2, 4});
  const std::vector<Array> values{{{2, 4}, {3, 1, 3, 3, 0, 5, 2, 5}}, {{2, 4}, {3, 2, 1, 3, 4, 5, 2, 7}}};
  const std::vector<Array> got = by_the_book(
      {grad(max(x, 1), {x}, Tensor(6).expand({2}))[0], grad(maximum(x, y), {x}, Tensor(6).expand({2, 4}))[0]}, {x, y},
      values);
  EXPECT_EQ(got[0].values, (std::vector<double>{2, 0, 2, 2, 0, 3, 0, 3}));
  EXPECT_EQ(got[1].values, (std::vector<double>{3, 0, 6, 3, 0, 3, 3, 0}));
}

TEST(Gradient, OfAProductSeesZeros) {
  const Tensor x = Tensor::placeholder({3, 3});
  const Array at{{3, 3}, {2, 3, 5, 2, 0, 5, 0, 7, 0}};
  EXPECT_EQ(by_the_book({grad(prod(x, 1), {x}, Tensor(1).expand({3}))[0]}, {x}, {at})[0].values,
            (std::vector<double>{15, 10, 6, 0, 10, 0, 0, 0, 0}));
}

TEST(Gradient, OfProductsOnBothSides) {
  for (const auto& [x, y] : std::vector<std::pair<Shape, Shape>>{{{31, 33}, {33, 5}},
                                                                 {{1, 33}, {33, 1}},
                                                                 {{5, 1}, {1, 7}},
                                                                 {{3, 4, 5}, {3, 5, 2}},
                                                                 {{3, 4, 5}, {5, 2}},
                                                                 {{2, 1, 4, 3}, {5, 3, 2}}}) {
    check_derivatives("matmul", {{off_grid(x, 1)}, {off_grid(y, 2)}},
                      [](const Tensors& t) { return matmul(t[0], t[1]); });
    Shape turned = y;
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    check_derivatives("matmul of a transposed operand", {{off_grid(x, 1)}, {off_grid(turned, 2)}},
                      [](const Tensors& t) { return matmul(t[0], t[1].transpose()); });
  }
}

TEST(Gradient, OfRowsGatheredScatteredAndJoined) {
  const Array index{{5}, {3, 0, 3, 6, 3}}, other{{3}, {6, 0, 2}};
  check_derivatives("gather_rows", {{off_grid({7, 33}, 1)}, {index, DType::int32}},
                    [](const Tensors& t) { return gather_rows(t[0] * t[0], t[1]); });
  check_derivatives("gather_rows of one", {{off_grid({7, 1}, 1)}, {{{1}, {4}}, DType::int32}},
                    [](const Tensors& t) { return gather_rows(t[0] * t[0], t[1]); });
  for (const Shape& shape : {Shape{7, 5}, Shape{2, 7, 31}, Shape{2, 3, 7, 1}}) {
    Shape part = shape;
    part[part.size() - 2] = 3;
    check_derivatives("assign_rows", {{off_grid(shape, 1)}, {off_grid(part, 2)}, {other, DType::int32}},
                      [](const Tensors& t) {
                        Tensor x = t[0] * t[0];
                        x.assign_rows(t[2], t[1] * t[1]);
                        return x * x;
                      });
  }
  for (const i64 axis : {0, 1, 2})
    check_derivatives("concat", {{off_grid({2, 3, 5}, 1)}, {off_grid(with({2, 3, 5}, axis, 4), 2)}},
                      [&](const Tensors& t) {
                        return concat({t[0] * t[0], t[1], t[0]}, axis);
                      });
}

TEST(Gradient, OfATensorUsedTwice) {
  check_derivatives("twice", {{off_grid({3, 34}, 1)}},
                    [](const Tensors& t) { return t[0] * t[0].slice(0, 1, 2) + exp(t[0]) * t[0]; });
}

TEST(Gradient, OfAGradientIsTheSecondDerivative) {
  check_derivatives("second", {{off_grid({3, 5}, 1)}, {off_grid({5, 4}, 2)}}, [](const Tensors& t) {
    const Tensor y = exp(matmul(t[0], t[1]) * 0.2);
    return grad(y * y, {t[0]}, Tensor(1).expand({3, 4}))[0] * t[0];
  });
}

TEST(Gradient, HasTheDtypeOfItsTensor) {
  const Tensor x = Tensor::placeholder({3, 4}, bf16), w = Tensor::placeholder({4, 5});
  const std::vector<Tensor> g = grad(matmul(x, w), {x, w}, Tensor::placeholder({3, 5}));
  EXPECT_EQ(g[0].dtype(), bf16);
  EXPECT_EQ(g[1].dtype(), fp32);
  EXPECT_EQ(grad(sum(x.cast(fp32).reshape({12}), 0), {x})[0].dtype(), bf16);
}

std::vector<double> value(const Tensor& wanted, const Tensor& x, const std::vector<double>& at) {
  return by_the_book({wanted}, {x}, {{x.shape(), at}})[0].values;
}

TEST(Gradient, StopsAtDetachedTensorsAndUnderNoGrad) {
  const Tensor x = Tensor::placeholder({2});
  const std::vector<double> at{3, 5};
  const auto gradient = [&](const Tensor& y) { return value(grad(sum(y, 0), {x})[0], x, at); };
  EXPECT_EQ(gradient(x * x), (std::vector<double>{6, 10}));
  EXPECT_EQ(gradient(x * x.detach()), at);
  EXPECT_EQ(gradient(x * exp(x * 0).detach().reshape({2, 1}).reshape({2})), (std::vector<double>{1, 1}));
  Tensor constant;
  {
    NoGrad scope;
    constant = x * x;
  }
  EXPECT_EQ(gradient(constant * x), (std::vector<double>{9, 25}));
  EXPECT_THROW(grad(sum(constant, 0), {x}), UsageError);
  EXPECT_THROW(grad(sum(x.detach(), 0), {x}), UsageError);
  EXPECT_THROW(grad(sum(x, 0).detach(), {x}), UsageError);
  EXPECT_EQ(value(x.detach() * 2, x, at), (std::vector<double>{6, 10}));
}

TEST(Gradient, IsWhatACustomGradientSays) {
  const Tensor x = Tensor::placeholder({2}), unused = Tensor::placeholder({2});
  const std::vector<double> at{3, 5};
  const Tensor clipped = minimum(x, 4);  // straight through
  const Tensor y = custom_gradient(clipped, {x, unused}, [&](const Tensor& g) {
    return Tensors{g * x * 100, Tensor()};
  });
  EXPECT_EQ(value(y, x, at), (std::vector<double>{3, 4}));
  EXPECT_EQ(value(grad(sum(y * 2, 0), {x})[0], x, at), (std::vector<double>{600, 1000}));
  EXPECT_THROW(grad(sum(y, 0), {unused}), UsageError);
  const auto few = custom_gradient(clipped, {x}, [](const Tensor&) { return Tensors{}; });
  EXPECT_THROW(grad(sum(few, 0), {x}), UsageError);
  const auto odd = custom_gradient(clipped, {x}, [](const Tensor& g) { return Tensors{g.reshape({2, 1})}; });
  EXPECT_THROW(grad(sum(odd, 0), {x}), UsageError);
}

TEST(Gradient, ErrorsNameTheTensorAndTheReason) {
  using testing::AllOf, testing::HasSubstr;
  const Tensor x = Tensor::placeholder({3, 4}), n = Tensor::placeholder({5}, DType::int32);
  const Tensor loss = sum(x.reshape({12}), 0);
  EXPECT_THAT(message_of<UsageError>([&] {
                grad(loss, {x, Tensor::placeholder({7}, bf16)});
              }),
              AllOf(HasSubstr("tensor 1"), HasSubstr("bf16 [7]"), HasSubstr("no differentiable path")));
  EXPECT_THAT(message_of<UsageError>([&] { grad(loss, {n}); }), AllOf(HasSubstr("tensor 0"), HasSubstr("int32 [5]")));
  EXPECT_THAT(message_of<UsageError>([&] { grad(n, {x}); }), HasSubstr("the loss is int32 [5]"));
  EXPECT_THAT(message_of<UsageError>([&] { grad(x * x, {x}); }), AllOf(HasSubstr("[3, 4]"), HasSubstr("seed")));
  EXPECT_THAT(message_of<UsageError>([&] { grad(loss, {x}, Tensor::placeholder({2})); }),
              HasSubstr("seed of its shape"));
  EXPECT_THAT(message_of<UsageError>([&] { grad(sum(where(x > 0, 1, 0).cast(fp32).reshape({12}), 0), {x}); }),
              HasSubstr("tensor 0"));
}

TEST(Gradient, OfALongChainNeedsNoStack) {
  const Tensor x = Tensor::placeholder({1});
  Tensor y = x;
  for (int n = 0; n < 100000; ++n) y = y + x;
  Tensor g = grad(y, {x})[0];
  EXPECT_EQ(g.shape(), Shape{1});
}

class Gradients : public OnDevice {
 protected:
  // The device's values against the same graphs in double.
  static void check(const std::string& name, const std::vector<Array>& inputs, const Function& f, Bound bound) {
    Tensors tensors;
    for (const Array& x : inputs) tensors.push_back(upload(x));
    Tensors all{f(tensors)};
    tensors.push_back(upload(eighths(all[0].shape(), 9)));
    std::vector<Array> values = inputs;
    values.push_back(eighths(all[0].shape(), 9));
    for (const Tensor& g : grad(all[0], std::span(tensors).first(inputs.size()), tensors.back())) all.push_back(g);
    const std::vector<Array> want = by_the_book(all, tensors, values);
    realize(all);
    for (size_t i = 0; i < all.size(); ++i)
      expect(fmt::format("{} {}", name, i), all[i], want[i], {bound.ulp, bound.absolute * (1 + largest(want[i]))});
  }
};
ON_EACH_DEVICE(Gradients);

TEST_P(Gradients, OfProductsAndEpilogues) {
  check("relu(xw + b)", {eighths({33, 40}, 1), eighths({70, 40}, 2), eighths({70}, 3)},
        [](const Tensors& t) { return relu(matmul(t[0], t[1].transpose()) + t[2]); }, {0, 0x1p-9});
  check("batches", {eighths({2, 33, 5}, 1), eighths({5, 31}, 2)}, [](const Tensors& t) { return matmul(t[0], t[1]); },
        {0, 0x1p-9});
}

TEST_P(Gradients, OfNormalisations) {
  const Array x = eighths({3, 70}, 1), w = eighths({70}, 2);
  check("softmax", {x}, [](const Tensors& t) { return softmax(t[0]); }, {0, 0x1p-18});
  check("rms_norm", {x, w}, [](const Tensors& t) { return rms_norm(t[0], t[1]); }, {0, 0x1p-16});
  check("silu", {x}, [](const Tensors& t) { return silu(t[0]); }, {0, 0x1p-16});
}

TEST_P(Gradients, OfMovedElements) {
  check("slice", {eighths({33, 70}, 1)},
        [](const Tensors& t) { return t[0].slice(0, 5, 33).slice(1, 1, 33) * t[0].slice(0, 1, 29).slice(1, 38, 70); },
        {0, 0x1p-18});
  check("concat", {eighths({5, 33}, 1), eighths({5, 3}, 2)},
        [](const Tensors& t) {
          return concat({t[0], t[1], t[0]}, 1);
        },
        {0, 0x1p-18});
  check("max", {eighths({33, 40}, 1)}, [](const Tensors& t) { return max(t[0], 1); }, {0, 0x1p-18});
}

TEST_P(Gradients, OfGatheredAndOverwrittenRows) {
  const Array x = eighths({40, 33}, 1), v = eighths({3, 33}, 2);
  const Tensor index = indices({7, 39, 7, 0, 7}), places = indices({38, 0, 17});
  const Tensor table = upload(x), values = upload(v), seed = upload(eighths({5, 33}, 3));
  expect("gather_rows", grad(gather_rows(table, index), {table}, seed)[0], generate({40, 33}, [&](const Shape& i) {
           const Array s = eighths({5, 33}, 3);
           return i[0] == 7    ? s.at({0, i[1]}) + s.at({2, i[1]}) + s.at({4, i[1]})
                  : i[0] == 39 ? s.at({1, i[1]})
                  : i[0] == 0  ? s.at({3, i[1]})
                               : 0;
         }));
  Tensor written = table;
  written.assign_rows(places, values);
  const Tensors got = grad(written, {table, values}, table);
  realize(got);
  expect("overwritten", got[0],
         generate(x.shape, [&](const Shape& i) { return i[0] == 38 || i[0] == 0 || i[0] == 17 ? 0 : x.at(i); }));
  expect("values", got[1], generate(v.shape, [&](const Shape& i) {
           return x.at({i[0] == 0 ? 38 : i[0] == 1 ? 0 : 17, i[1]});
         }));
  expect("the table is as it was", table, x);
}

TEST_P(Gradients, OfALossAloneHasADevice) {
  const Tensor x = upload(eighths({3, 5}, 1));
  expect("ones", grad(-sum(sum(x, 1), 0), {x})[0], map(eighths({3, 5}, 1), [](double) { return -1.0; }));
}

}  // namespace
}  // namespace baretile::tensor_test
