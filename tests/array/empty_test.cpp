// Tensors with an axis of no elements: shapes and values by NumPy's rules, and no launch for what has no elements.
#include "baretile/autograd.h"
#include "baretile/jit.h"
#include "baretile/random.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Empty : public OnDevice {
 protected:
  static Tensor of(Shape shape, DType dtype = fp32) { return Tensor::zeros(runtime(), std::move(shape), dtype); }
  static Tensor filled(Shape shape, double value) { return Tensor::full(runtime(), std::move(shape), value); }
  // A tensor of that shape, which takes no launch and gives no values.
  static void expect_empty(const std::string& name, const Tensor& x, const Shape& shape) {
    EXPECT_EQ(x.shape(), shape) << name;
    EXPECT_EQ(launches([&] { EXPECT_TRUE(values_of(x).empty()) << name; }), 0u) << name;
    EXPECT_EQ(to_string(x), "[]") << name;
  }
  static void expect_values(const std::string& name, const Tensor& x, const Shape& shape,
                            const std::vector<double>& want) {
    EXPECT_EQ(x.shape(), shape) << name;
    EXPECT_THAT(values_of(x), testing::Pointwise(testing::NanSensitiveDoubleEq(), want)) << name;
  }
};
ON_EACH_DEVICE(Empty);

const std::vector<Shape> kShapes{{0}, {1, 0, 32}, {3, 0}, {0, 5}};

TEST_P(Empty, TheyAreMadeFromNothingAndGiveNothing) {
  for (const Shape& shape : kShapes) {
    for (const DType dtype : {DType::boolean, DType::uint32, DType::int32, bf16, fp32}) {
      expect_empty("zeros", of(shape, dtype), shape);
      expect_empty("full", Tensor::full(runtime(), shape, 1, dtype), shape);
      expect_empty("cast", of(shape).cast(dtype), shape);
      EXPECT_EQ(of(shape).cast(dtype).dtype(), dtype);
    }
    expect_empty("floats", Tensor::from_host(runtime(), std::vector<float>(), shape), shape);
    expect_empty("integers", Tensor::from_host(runtime(), std::vector<i32>(), shape), shape);
    expect_empty("bf16", Tensor::from_host_bf16(runtime(), std::vector<u16>(), shape), shape);
  }
  expect_empty("of", Tensor::of(runtime(), {}), {0});
  expect_empty("of lists", Tensor::of(runtime(), {{}, {}}), {2, 0});
  expect_empty("arange", Tensor::arange(runtime(), 5, 0), {0});
  expect_empty("linspace", Tensor::linspace(runtime(), 0, 1, 0), {0});
  expect_empty("eye", Tensor::eye(runtime(), 0, 3), {0, 3});
  const Tensor key = random::key(runtime(), 1);
  expect_empty("uniform", random::uniform(key, {2, 0}), {2, 0});
  expect_empty("normal", random::normal(key, {0}), {0});
}

TEST_P(Empty, EveryElementwiseOperationKeepsTheShape) {
  for (const Shape& shape : kShapes) {
    const Tensor x = of(shape), i = of(shape, DType::int32);
#define UNARY(name, doc, kind, ...) \
  expect_empty(#name, name(compiler::Kind::kind == compiler::Kind::bits ? i : x), shape);
#define BINARY(name, doc, kind, ...)                                                                         \
  {                                                                                                          \
    const bool bits =                                                                                        \
        compiler::Kind::kind == compiler::Kind::bits || compiler::Kind::kind == compiler::Kind::signed_bits; \
    expect_empty(#name, name(bits ? i : x, bits ? Tensor(2) : Tensor::ones(runtime(), {1}, fp32)), shape);   \
  }
#define TERNARY(name, ...) expect_empty(#name, name(x, x, 1), shape);
#include "baretile/ops.def"
    using Unary = Tensor (*)(const Tensor&);
    for (const Unary op : std::initializer_list<Unary>{sigmoid, softplus, gelu, gelu_tanh, silu})
      expect_empty("composite", op(x), shape);
    expect_empty("clamp", clamp(x, 0, 1), shape);
    expect_empty("floor_divide", floor_divide(i, i), shape);
    expect_empty("remainder", remainder(x, 2), shape);
    expect_empty("softmax", softmax(x), shape);
    expect_empty("cumsum", cumsum(x, -1), shape);
    expect_empty("argsort", argsort(x), shape);
  }
  expect_empty("broadcast", of({0, 5}) + of({5}), {0, 5});
  expect_empty("one against none", of({3, 1}) * of({0}), {3, 0});
  EXPECT_THROW(of({0}) + of({3}), UsageError) << "3 and 0 do not broadcast";
  EXPECT_THROW(of({0}) + of({3, 2}), UsageError);
}

TEST_P(Empty, ReductionsOfNothingGiveTheirIdentity) {
  const Tensor x = of({0, 3}), wide = of({2, 0, 3});
  expect_values("sum", sum(x, 0), {3}, {0, 0, 0});
  expect_values("prod", prod(x, 0, true), {1, 3}, {1, 1, 1});
  expect_values("sum of all", sum(wide), {}, {0});
  expect_values("prod of all", prod(wide.cast(DType::int32)), {}, {1});
  expect_values("sum over a middle axis", sum(wide, 1), {2, 3}, std::vector<double>(6, 0));
  expect_values("bf16", sum(wide.cast(bf16), {0, 1}), {3}, {0, 0, 0});
  expect_values("any", any(x, 0), {3}, {0, 0, 0});
  expect_values("all", all(x, 0), {3}, {1, 1, 1});
  expect_values("mean", mean(x, 0), {3}, {NAN, NAN, NAN});
  expect_empty("sum over the other axis", sum(x, 1), {0});
  expect_empty("max over the other axis", max(x, 1), {0});
  expect_empty("mean over the other axis", mean(x, 1), {0});
  expect_empty("argmax over the other axis", argmax(x, 1), {0});
  expect_values("added to something", sum(x, 0) + filled({3}, 2), {3}, {2, 2, 2});
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { max(x, 0); }, [&] { min(x); }, [&] { argmax(x, 0); }, [&] { argmin(of({0}), 0); },
           [&] { max(x.cast(DType::int32), 0); }, [&] { var(x, 0); }, [&] { logsumexp(x, 0); }})
    EXPECT_THROW(call(), UsageError);
}

TEST_P(Empty, ProductsOverNothingAreZero) {
  expect_values("matmul", matmul(of({2, 0}), of({0, 3})), {2, 3}, std::vector<double>(6, 0));
  expect_values("inner", matmul(of({0}), of({0})), {}, {0});
  expect_values("full", matmul(of({2, 0}), of({0, 3}), Precision::full), {2, 3}, std::vector<double>(6, 0));
  expect_values("batched", matmul(of({2, 1, 0}, bf16), of({0, 2}, bf16)), {2, 1, 2}, {0, 0, 0, 0});
  expect_values("einsum", einsum("ij,jk->ik", {of({2, 0}), of({0, 2})}), {2, 2}, {0, 0, 0, 0});
  expect_empty("no rows", matmul(of({0, 4}), filled({4, 3}, 1)), {0, 3});
  expect_empty("no columns", matmul(filled({2, 4}, 1), of({4, 0})), {2, 0});
  expect_empty("no matrices", matmul(of({0, 2, 4}), filled({4, 3}, 1)), {0, 2, 3});
  expect_empty("full without rows", matmul(of({0, 4}), filled({4, 3}, 1), Precision::full), {0, 3});
  expect_empty("outer", outer(of({0}), filled({3}, 1)), {0, 3});
  EXPECT_THROW(matmul(of({2, 0}), of({1, 3})), UsageError);
}

TEST_P(Empty, ViewsAndMoves) {
  const Tensor x = of({2, 0, 3}), y = Tensor::of(runtime(), {{1, 2, 3}, {4, 5, 6}});
  expect_empty("reshape", x.reshape({0, 7}), {0, 7});
  expect_empty("reshape with -1", x.reshape({-1, 3}), {0, 3});
  expect_empty("flat", x.reshape({-1}), {0});
  expect_empty("permute", x.permute({2, 1, 0}), {3, 0, 2});
  expect_empty("transpose", x.transpose(), {2, 3, 0});
  expect_empty("flip", x.flip(1).flip(0), {2, 0, 3});
  expect_empty("squeeze", of({1, 0}).squeeze(0), {0});
  expect_empty("unsqueeze", x.unsqueeze(-1), {2, 0, 3, 1});
  expect_empty("expand", of({1, 1}).expand({4, 0, 1}), {4, 0, 1});
  expect_empty("slice", y.slice(1, 2, 2), {2, 0});
  expect_empty("slice of all", y.slice(0, 0, 0), {0, 3});
  expect_empty("slice at the end", y.slice(1, 3, 3, 2), {2, 0});
  expect_empty("slice backwards", y.slice(1, 1, 1, -1), {2, 0});
  expect_empty("slice of nothing", x.slice(1, 0, 0), {2, 0, 3});
  expect_empty("slice of the rest", x.slice(2, 0, 2), {2, 0, 2});
  expect_empty("repeat", y.repeat(1, 0), {2, 0});
  expect_empty("repeat of nothing", x.repeat(1, 4), {2, 0, 3});
  const std::vector<Tensor> parts = y.split(1, {0, 2, 1, 0});
  ASSERT_EQ(parts.size(), 4u);
  expect_empty("first part", parts[0], {2, 0});
  expect_values("second part", parts[1], {2, 2}, {1, 2, 4, 5});
  expect_empty("last part", parts[3], {2, 0});
  expect_empty("pad another axis", x.pad(2, 1, 1), {2, 0, 5});
  expect_values("pad nothing", of({2, 0}).pad(1, 1, 2, 7), {2, 3}, std::vector<double>(6, 7));
  expect_values("concat", concat({of({2, 0}), y, of({2, 0})}, 1), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values("concat of two", concat({y, of({0, 3}), y}, 0).slice(0, 1, 3), {2, 3}, {4, 5, 6, 1, 2, 3});
  expect_empty("concat of nothing", concat({of({0, 3}), of({0, 3})}, 0), {0, 3});
  expect_empty("concat beside", concat({of({0, 3}), of({0, 2})}, 1), {0, 5});
  expect_empty("stack", stack({of({0}), of({0})}, 0), {2, 0});
  expect_empty("tril", tril(of({0, 4})), {0, 4});
  EXPECT_THROW(x.reshape({1}), UsageError);
  EXPECT_THROW(of({0, 3}).reshape({0, -1}), UsageError) << "-1 could be anything";
  EXPECT_THROW(of({-1}), UsageError);
}

TEST_P(Empty, IndicesOfNothing) {
  const Tensor none = of({0}, DType::int32), y = Tensor::of(runtime(), {{1, 2, 3}, {4, 5, 6}});
  expect_empty("gather_rows", gather_rows(y, none), {0, 3});
  expect_empty("index_select", y.index_select(1, none), {2, 0});
  expect_empty("of nothing", of({0, 5}).index_select(0, none), {0, 5});
  expect_empty("beside", of({0, 5}).index_select(1, indices({4, 0})), {0, 2});
  expect_empty("take", take(y, none), {0});
  expect_empty("gather", gather(y, of({2, 0}, DType::int32)), {2, 0});
  expect_empty("one_hot", one_hot(none, 5), {0, 5});
  expect_empty("no classes", one_hot(indices({1, 2}), 0), {2, 0});
  expect_empty("topk", topk(y, 0).values, {2, 0});
  expect_values("scatter", scatter(y, of({2, 0}, DType::int32), of({2, 0})), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values("scatter_add", scatter_add(y, of({2, 0}, DType::int32), of({2, 0})), {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor written = y;
  written.assign_rows(none, of({0, 3}));
  written.assign(0, 1, of({0, 3}));
  expect_values("assign", written, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THROW(gather_rows(of({0, 3}), indices({0})), UsageError);
}

TEST_P(Empty, GradientsAreZerosOfTheShape) {
  const Tensor x = filled({4, 3}, 2), none = of({0, 4});
  const std::vector<Tensor> grads = grad(sum(matmul(none, x)), {x, none});
  expect_values("of what met nothing", grads[0], {4, 3}, std::vector<double>(12, 0));
  expect_empty("of nothing", grads[1], {0, 4});
  expect_values("of a slice", grad(sum(x) + sum(x.slice(0, 2, 2)), {x})[0], {4, 3}, std::vector<double>(12, 1));
  const std::vector<Tensor> joined = grad(sum(concat({of({0, 3}), x}, 0) * 5), {x});
  expect_values("of a part", joined[0], {4, 3}, std::vector<double>(12, 5));
  expect_empty("of an element-wise loss", grad(sum(exp(none)), {none})[0], {0, 4});
}

TEST_P(Empty, JitTakesThemAndDoesNotMakeThem) {
  Jit join([](const std::vector<Tensor>& in) { return std::vector{concat({in[0], in[1]}, 0) * 2}; });
  const Tensor y = Tensor::of(runtime(), {{1, 2}});
  expect_values("joined", join({of({0, 2}), y})[0], {1, 2}, {2, 4});
  expect_values("replayed", join({of({0, 2}), y})[0], {1, 2}, {2, 4});
  Jit cut([](const std::vector<Tensor>& in) { return std::vector{in[0].slice(0, 0, 0)}; });
  EXPECT_THROW(cut({y}), Unsupported);
}

}  // namespace
}  // namespace baretile::tensor_test
