#include "baretile/custom.h"

#include <gmock/gmock.h>

#include "baretile/error.h"
#include "support/message.h"
#include "tensor/support.h"

namespace baretile::tensor_test::custom {
namespace {

using testing::HasSubstr;

const std::string kDamped = R"(#include "sfpu/reciprocal.h"

namespace baretile::kernel::sfpu {

// x / (1 + x^2). Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S, u32 P>
inline void damped() {
  multiply_add<P, A, A, kOne>();
  reciprocal<D, P, T, S>();
  multiply<D, D, A>();
}

}  // namespace baretile::kernel::sfpu
)";
const std::string kGate = R"(namespace baretile::kernel::sfpu {
// x y^2 + 1
template <u32 D, u32 A, u32 B>
inline void gate() {
  multiply<D, A, B>();
  multiply_add<D, D, B, kOne>();
}
})";

CustomOp damped() {
  return CustomOp("damped", kDamped, [](const Tensor& g, std::span<const Tensor> x) {
    const Tensor square = x[0] * x[0], r = reciprocal(square + 1);
    return std::vector{g * (1 - square) * r * r};
  });
}
CustomOp gate() {
  return CustomOp("gate", kGate, [](const Tensor& g, std::span<const Tensor> x) {
    return std::vector{g * x[1] * x[1], g * 2 * x[0] * x[1]};
  });
}

std::vector<float> values(i64 count, float scale = 1) {
  std::vector<float> out;
  for (i64 i = 0; i < count; ++i) out.push_back(scale * float((i * 37) % 101 - 50) / 16);
  return out;
}

class CustomTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SIMULATOR(GetParam());
    runtime_ = std::make_unique<Runtime>(GetParam());
  }
  Tensor tensor(Shape shape, float scale = 1, DType dtype = fp32) {
    i64 count = 1;
    for (const i64 extent : shape) count *= extent;
    return Tensor::from_host(*runtime_, values(count, scale), shape, dtype);
  }
  std::unique_ptr<Runtime> runtime_;
};
INSTANTIATE_TEST_SUITE_P(, CustomTest, testing::Values("sim", "ttsim"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(CustomTest, ComputesWhatItsHeaderSaysAtAnyShape) {
  for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{40, 70}, Shape{2, 33, 1}}) {
    const Tensor x = tensor(shape), y = damped()({x});
    const std::vector<float> in = x.to_host(), out = y.to_host();
    for (size_t i = 0; i < in.size(); ++i)
      EXPECT_TRUE(close(out[i], in[i] / (1 + double(in[i]) * in[i]), fp32, {.ulp = 3})) << in[i] << " " << out[i];
    EXPECT_EQ(values_in_padding(*runtime_, y), 0);
  }
  const Tensor y = gate()({tensor({40, 1}), tensor({3, 1, 70}, 0.5f)});
  EXPECT_EQ(y.shape(), (Shape{3, 40, 70}));
  EXPECT_EQ(values_in_padding(*runtime_, Tensor(y).realize()), 0) << "gate does not keep zeros";
  const std::vector<float> out = y.to_host(), a = values(40), b = values(210, 0.5f);
  for (size_t i = 0; i < out.size(); ++i) {
    const double x = a[i / 70 % 40], w = b[i / 2800 * 70 + i % 70];
    EXPECT_TRUE(close(out[i], x * w * w + 1, fp32, {.ulp = 2, .absolute = 1e-5})) << i;
  }
}

TEST_P(CustomTest, IsPartOfTheKernelThatItsNeighboursAreIn) {
  const Tensor x = tensor({64, 32}), w = tensor({32, 96}, 0.1f);
  const u64 before = runtime_->stats().launches;
  Tensor fused = exp(gate()({damped()({matmul(x, w)}), 0.5})) + 1;
  fused.realize();
  EXPECT_EQ(runtime_->stats().launches - before, 1);
  const std::vector<float> out = fused.to_host(), product = matmul(x, w).to_host();
  for (size_t i = 0; i < out.size(); ++i) {
    const double s = product[i] / (1 + double(product[i]) * product[i]);
    EXPECT_NEAR(out[i], std::exp(s * 0.25 + 1) + 1, 1e-5);
  }
}

TEST_P(CustomTest, HasTheGradientThatWasGiven) {
  const Tensor x = tensor({20, 1}), y = tensor({20, 40}, 0.5f);
  const auto gradients = grad(sum(gate()({x, damped()({y})})), {x, y});
  const std::vector<float> a = values(20), b = values(800, 0.5f), dx = gradients[0].to_host(),
                           dy = gradients[1].to_host();
  for (size_t row = 0; row < 20; ++row) {
    double total = 0;
    for (size_t col = 0; col < 40; ++col) {
      const double v = b[row * 40 + col], r = 1 / (1 + v * v), s = v * r;
      total += s * s;
      EXPECT_NEAR(dy[row * 40 + col], 2 * a[row] * s * (1 - v * v) * r * r, 1e-5);
    }
    EXPECT_NEAR(dx[row], total, 1e-4);
  }
}

TEST_P(CustomTest, OfBf16IsBf16AndOfIntegersFp32) {
  EXPECT_EQ(damped()({tensor({4, 4}, 1, bf16)}).dtype(), bf16);
  EXPECT_EQ(damped()({tensor({4, 4}).cast(DType::int32)}).dtype(), fp32);
  EXPECT_EQ(gate()({tensor({4, 4}, 1, bf16), tensor({4, 4})}).dtype(), fp32);
}

TEST_P(CustomTest, MistakesAreNamed) {
  const Tensor x = tensor({3, 3});
  EXPECT_THAT(message_of<UsageError>([] { CustomOp("exp", "template <u32 D, u32 A>\ninline void exp() {}"); }),
              HasSubstr("exp: the library has an operation of that name"));
  EXPECT_THAT(message_of<UsageError>([] { CustomOp("nothing", "inline void something() {}"); }),
              HasSubstr("nothing: its header has no 'template <u32 D, u32 A> inline void nothing()'"));
  EXPECT_THAT(message_of<UsageError>([] { CustomOp("alone", "template <u32 D>\ninline void alone() {}"); }),
              HasSubstr("alone: its template has no operand"));
  damped();
  EXPECT_NO_THROW(damped()) << "the same again is the same";
  EXPECT_THAT(message_of<UsageError>([] { CustomOp("damped", kDamped + " "); }),
              HasSubstr("damped: another one has that name"));
  EXPECT_THAT(message_of<UsageError>([&] { gate()({x}); }), HasSubstr("gate: 1 operands; its header takes 2"));
  const CustomOp flat(
      "flat", "namespace baretile::kernel::sfpu {\ntemplate <u32 D, u32 A>\ninline void flat() { move<D, A>(); }\n}");
  EXPECT_THAT(message_of<Unsupported>([&] { grad(sum(flat({x})), {x}); }),
              HasSubstr("CustomOp flat was made without a gradient"));
  const CustomOp broken("broken", "template <u32 D, u32 A>\ninline void broken() { undeclared(); }");
  EXPECT_THAT(message_of<CompileError>([&] { broken({x}).to_host(); }), HasSubstr("undeclared"));
}

}  // namespace
}  // namespace baretile::tensor_test::custom
