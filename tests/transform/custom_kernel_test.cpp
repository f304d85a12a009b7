// Kernels of the user's as operations: what they compute at which shapes, between which neighbours, and how they are
// refused. Their launches and texts are those of the programs made.
#include "baretile/error.h"
#include "baretile/jit.h"
#include "compiler/compiler.h"
#include "explain/print.h"
#include "support/message.h"
#include "tensor/support.h"
#include "transform/add_times_kernel.h"

namespace baretile::tensor_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CustomKernelTest : public OnDevice {
 protected:
  static std::vector<float> values(const Shape& shape, float first) {
    std::vector<float> out;
    for (i64 i = 0; i < compiler::element_count(shape); ++i) out.push_back(first + float(i * 37 % 101) / 8);
    return out;
  }
  static Tensor tensor(const Shape& shape, float first = -6, DType dtype = fp32) {
    return Tensor::from_host(runtime(), values(shape, first), shape, dtype);
  }
  static u64 launches(const Tensor& x) {
    const u64 before = runtime().stats().launches;
    Tensor(x).realize();
    return runtime().stats().launches - before;
  }
};
ON_EACH_DEVICE(CustomKernelTest);

std::shared_ptr<const compiler::Compiled> compiled(const Tensor& x) {
  return program_for(capture(std::span(&x, 1)).graph);
}

TEST_P(CustomKernelTest, ComputesAtAnyShapeAndItsPagesEndInZeros) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{1, 70}, Shape{40, 70}, Shape{2, 33, 1}, Shape{3, 1, 5}}) {
    Tensor y = add_times(3)({tensor(shape), tensor(shape, 1)});
    ASSERT_EQ(y.shape(), shape);
    y.realize();
    EXPECT_EQ(values_in_padding(runtime(), y), 0) << compiler::to_string(shape);
    const std::vector<float> a = values(shape, -6), b = values(shape, 1), out = y.to_host();
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], a[i] + 3 * b[i]) << compiler::to_string(shape) << i;
  }
}

TEST_P(CustomKernelTest, IsOneLaunchWhoseItemsTilesShare) {
  const Tensor y = add_times(2)({tensor({3, 70, 40}), tensor({3, 70, 40})});
  const auto program = compiled(y);
  ASSERT_EQ(program->program.launches.size(), 1u);
  const Launch& launch = program->program.launches[0];
  EXPECT_EQ(launch.label, "add_times_3x70x40");
  EXPECT_EQ(launch.max_workers, 3 * 3 * 2u);
  std::vector<u32> numbers;
  for (const LaunchArg& arg : launch.args)
    if (arg.kind == LaunchArg::Kind::constant) numbers.push_back(arg.value);
  EXPECT_EQ(launch.args.size(), 5u);
  EXPECT_THAT(numbers, ElementsAre(18, 2)) << "the items, then its own";
  EXPECT_EQ(launches(y), 1u);
}

TEST_P(CustomKernelTest, AnotherDtypeOfTheResultIsWhatThePlanSays) {
  Tensor y = add_times(1, bf16)({tensor({33, 5}), tensor({33, 5}, 0)});
  EXPECT_EQ(y.dtype(), bf16);
  y.realize();
  EXPECT_EQ(values_in_padding(runtime(), y), 0);
  const std::vector<float> out = y.to_host(), a = values({33, 5}, -6), b = values({33, 5}, 0);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], a[i] + b[i]) << "of eight bits at most, which bf16 has";
}

TEST_P(CustomKernelTest, NeighboursBecomeKernelsUpToItAndFromItOn) {
  const Tensor x = tensor({40, 40});
  const Tensor y = relu(add_times(2)({x * 2 + 1, x}) - 4) * 0.5;
  const auto program = compiled(y);
  std::vector<std::string> labels;
  for (const Launch& launch : program->program.launches) labels.push_back(launch.label);
  EXPECT_THAT(labels, ElementsAre("mul_add_1x40x40", "add_times_40x40", "sub_relu_mul_1x40x40"));
  EXPECT_EQ(launches(y), 3u);
  const std::vector<float> in = x.to_host(), out = y.to_host();
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], std::max(4 * in[i] - 3, 0.f) / 2);
}

std::vector<std::string> labels(std::span<const Tensor> outputs) {
  std::vector<std::string> out;
  for (const Launch& launch : program_for(capture(outputs).graph)->program.launches) out.push_back(launch.label);
  return out;
}
std::vector<std::string> labels(const Tensor& x) { return labels(std::span(&x, 1)); }

TEST_P(CustomKernelTest, DoesWhatFollowsOnItsTileWhereItsTextSaysSo) {
  const CustomKernel f = add_times(2, fp32, true);
  for (const Shape& shape : {Shape{40, 70}, Shape{3, 33, 64}, Shape{2, 64, 1}}) {
    const Tensor x = tensor(shape), y = tensor(shape, 1);
    Tensor z = (relu(f({x, y}) - 12) + 0.25) * -2;  // keeps no zeros: the edges are masked
    EXPECT_EQ(labels(z).size(), 1u) << labels(z)[0];
    EXPECT_EQ(launches(z), 1u);
    EXPECT_EQ(values_in_padding(runtime(), z.realize()), 0) << compiler::to_string(shape);
    const std::vector<float> a = x.to_host(), b = y.to_host(), out = z.to_host();
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], (std::max(a[i] + 2 * b[i] - 12, 0.f) + 0.25f) * -2);
  }
  const Tensor x = tensor({40, 70});
  EXPECT_THAT(labels(relu(f({x, x}) - 12)), ElementsAre("add_times_fusing_sub_relu_1x40x70"));
  EXPECT_EQ((f({x, x}).reshape({1, 40, 70}) * 3).to_host(), (x * 9).to_host());
  EXPECT_THAT(labels(f({x, x}).reshape({1, 40, 70}) * 3), ElementsAre("add_times_fusing_mul_1x40x70"));
  const Tensor twice = f({f({x, x}) + 1, x}) - 1;
  EXPECT_EQ(labels(twice).size(), 2u);
  EXPECT_EQ(twice.to_host(), (x * 5).to_host());
  EXPECT_EQ(grad(sum(relu(f({x, x}) - 12)), {x})[0].to_host(), (where(x * 3 > 12, 3, 0)).to_host());
}

TEST_P(CustomKernelTest, LeavesToOthersWhatTakesMoreThanItsTile) {
  const CustomKernel f = add_times(2, fp32, true);
  const Tensor x = tensor({40, 64}), y = f({x, x});
  const auto expect = [&](const Tensor& got, const Tensor& want, size_t kernels) {
    EXPECT_EQ(labels(got).size(), kernels) << testing::PrintToString(labels(got));
    EXPECT_EQ(got.to_host(), want.to_host());
  };
  expect(f({x, x}) * x, x * x * 3, 2);
  expect(f({x, x}).cast(bf16), (x * 3).cast(bf16), 2);
  expect(max(f({x, x}), 1, true), max(x * 3, 1, true), 2);
  expect(f({x, x}).slice(0, 0, 32) + 1, x.slice(0, 0, 32) * 3 + 1, 2);
  expect(f({x, x}).slice(1, 0, 33) + 1, x.slice(1, 0, 33) * 3 + 1, 2);
  expect(f({x, x}).slice(0, 0, 33) + 1, x.slice(0, 0, 33) * 3 + 1, 2);
  expect(f({x, x}).reshape({2, 20, 64}) + 1, (x * 3 + 1).reshape({2, 20, 64}), 3);
  const Tensor row = x.slice(0, 1, 2);
  EXPECT_EQ((f({row, row}) + 1).to_host(), (row * 3 + 1).to_host());
  const std::string comments =
      "/* fused_neighbours(0) //* */ // fused_neighbours(0)\nextern \"C\" void kernel_brisc(const unsigned*) {}\n";
  const CustomKernel silent("silent", comments, {fp32}, [](auto in) { return CustomKernel::Result{.shape = in[0]}; });
  EXPECT_EQ(labels(silent({x}) + 1).size(), 2u) << "a comment is no call";
  const std::vector<Tensor> both{y, y + 1};
  EXPECT_EQ(labels(both).size(), 2u) << "both are wanted";
  realize(both);
  EXPECT_EQ(both[0].to_host(), (x * 3).to_host());
  EXPECT_EQ(both[1].to_host(), (x * 3 + 1).to_host());
}

TEST_P(CustomKernelTest, OperationsThatNeedMoreOfDstStayAKernel) {
  const Tensor x = tensor({40, 64}) / 8;
  const auto many = [](const Tensor& v) {
    std::vector<Tensor> parts;
    for (int n = 1; n < 8; ++n) parts.push_back(exp(v * (0.125 * n)) + v);
    Tensor sum = parts[0] * parts[6], back = parts[6];
    for (int n = 1; n < 7; ++n)
      sum = sum * 0.5 + parts[size_t(n)] * parts[size_t(6 - n)], back = back + parts[size_t(n)];
    return sum * back;
  };
  const Tensor y = many(add_times(0, fp32, true)({x, x}));
  EXPECT_GT(labels(y).size(), 1u);
  EXPECT_EQ(y.to_host(), many(x).to_host());
}

TEST_P(CustomKernelTest, TakesViewsConstantsAndOneTensorTwice) {
  const Tensor x = tensor({40, 70}), counted = Tensor::arange(runtime(), 0, 40 * 70).cast(fp32).reshape({40, 70});
  const auto expect = [](const Tensor& got, const Tensor& want) { EXPECT_EQ(got.to_host(), want.to_host()); };
  const CustomKernel f = add_times(2);
  expect(f({x.transpose(), x.transpose()}), (x + 2 * x).transpose());
  expect(f({x.slice(0, 3, 40), x.slice(0, 0, 37)}), x.slice(0, 3, 40) + 2 * x.slice(0, 0, 37));
  expect(f({x, Tensor::full(runtime(), {40, 70}, 0.5)}), x + 1);
  expect(f({counted, x.reshape({70, 40}).reshape({40, 70})}), counted + 2 * x);
  expect(f({x.flip(1), concat({x.slice(1, 0, 35), x.slice(1, 35, 70)}, 1)}), x.flip(1) + 2 * x);
  expect(f({f({x.slice(0, 5, 6), x.slice(0, 6, 7)}), x.slice(0, 5, 6)}), x.slice(0, 5, 6) * 3 + 2 * x.slice(0, 6, 7));
}

TEST_P(CustomKernelTest, HasTheGradientThatWasGiven) {
  const Tensor x = tensor({20, 40}), y = tensor({20, 40}, 1);
  const auto gradients = grad(sum(add_times(3)({x * x, y}) * y.detach()), {x, y});
  const std::vector<float> a = x.to_host(), b = y.to_host(), dx = gradients[0].to_host(), dy = gradients[1].to_host();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(dx[i], 2 * a[i] * b[i]);
    EXPECT_EQ(dy[i], 3 * b[i]);
  }
  EXPECT_EQ(grad(sum(add_times(3)({x.detach(), y})), {y})[0].to_host(), std::vector<float>(800, 3));
}

TEST_P(CustomKernelTest, IsPartOfAProgramThatAJitReplays) {
  int traces = 0;
  Jit f([&](const std::vector<Tensor>& in) {
    ++traces;
    return std::vector{add_times(2)({in[0] + 1, in[1]}) * 2};
  });
  for (const float first : {-6.f, 2.f, 5.f}) {
    const u64 launches = runtime().stats().launches, runs = runtime().stats().runs;
    const Tensor out = f({tensor({33, 33}, first), tensor({33, 33}, 1)})[0];
    EXPECT_EQ(runtime().stats().launches - launches, 3u);
    EXPECT_EQ(runtime().stats().runs - runs, 1u);
    const std::vector<float> got = out.to_host(), a = values({33, 33}, first), b = values({33, 33}, 1);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * (a[i] + 1 + 2 * b[i]));
  }
  EXPECT_EQ(traces, 1);
}

TEST_P(CustomKernelTest, OtherNumbersAreAnotherProgramOfTheSameImage) {
  const auto numbers = [&](u32 times, const Shape& shape) {
    return compiled(add_times(times)({Tensor::placeholder(shape), Tensor::placeholder(shape)}))->program;
  };
  const Program two = numbers(2, {33, 5}), three = numbers(3, {33, 5}), larger = numbers(2, {3, 100, 100});
  EXPECT_EQ(two.kernels[0].key, three.kernels[0].key);
  EXPECT_EQ(two.kernels[0].key, larger.kernels[0].key) << "compiled once for all shapes";
  EXPECT_EQ(two.launches[0].args[4].value, 2u);
  EXPECT_EQ(three.launches[0].args[4].value, 3u);
  EXPECT_NE(two.kernels[0].key,
            compiled(add_times(2, bf16)({tensor({33, 5}), tensor({33, 5})}))->program.kernels[0].key);
}

TEST_P(CustomKernelTest, IsShownWithItsNameAndItsText) {
  const Tensor y = add_times(7)({tensor({40, 70}), tensor({40, 70})}) + 1;
  const compiler::Plans plans = compiler::plan(capture(std::span(&y, 1)).graph);
  EXPECT_THAT(compiler::to_string(plans.schedule), AllOf(HasSubstr("kernel add_times_40x70\n  @0: fp32 [40, 70] tile"),
                                                         HasSubstr("custom kernel add_times: 6 items, arguments [7]")));
  EXPECT_THAT(plans.sources[0].text, HasSubstr("#line 1 \"add_times.cc\"\n#include \"kernels/compute.h\""));
  const Tensor before = add_times(7)({tensor({40, 70}) * 2, tensor({40, 70})});
  EXPECT_THAT(compiler::to_string(compiler::plan(capture(std::span(&before, 1)).graph).plan),
              HasSubstr("its reader is a kernel of its own"));
}

TEST_P(CustomKernelTest, ReadsBlockFormatsAsBf16) {
  const CustomKernel f("reads_bf16", "", {bf16},
                       [](std::span<const Shape> x) { return CustomKernel::Result{.shape = x[0]}; });
  const Tensor y = f({Tensor::placeholder({40, 70}, DType::bfp8)});
  const compiler::Plans plans = compiler::plan(capture(std::span(&y, 1)).graph);
  EXPECT_THAT(compiler::to_string(plans.schedule),
              HasSubstr("kernel reads_bf16_40x70\n  @0: bf16 [40, 70] tile\n  @1: fp32 [40, 70] tile"));
}

TEST_P(CustomKernelTest, WithoutElementsTakesNoLaunch) {
  const Tensor none = Tensor::zeros(runtime(), {0, 40});
  const Tensor y = add_times(2)({none, none});
  EXPECT_EQ(y.shape(), (Shape{0, 40}));
  EXPECT_EQ(launches(y), 0u);
  EXPECT_EQ(grad(sum(y), {none})[0].shape(), (Shape{0, 40}));
}

TEST_P(CustomKernelTest, MistakesAreNamed) {
  const auto usage = [](auto body) { return message_of<UsageError>(body); };
  const auto same = [](std::span<const Shape> in) { return CustomKernel::Result{.shape = in[0]}; };
  const auto giving = [&](const char* name, CustomKernel::Result result) {
    return CustomKernel(name, "// " + std::string(name), {fp32}, [=](std::span<const Shape>) { return result; });
  };
  const Tensor x = tensor({3, 3}), none = Tensor::zeros(runtime(), {0, 3});
  EXPECT_THAT(usage([&] { add_times(1)({x}); }), HasSubstr("CustomKernel add_times: 1 operands; it takes 2"));
  EXPECT_THAT(usage([&] {
                add_times(1)({x, x.cast(bf16)});
              }),
              HasSubstr("CustomKernel add_times: operand 1 is bf16 [3, 3]; it takes fp32, cast it"));
  EXPECT_THAT(usage([&] { add_times(1)({x, Tensor()}); }), HasSubstr("add_times: the tensor is empty"));
  EXPECT_THAT(usage([&] { add_times(1)({x, tensor({4, 3})}); }), HasSubstr("add_times: the shapes differ"));
  EXPECT_THAT(usage([&] { giving("idle", {.shape = {3}, .items = 0})({x}); }),
              HasSubstr("CustomKernel idle: its plan gives [3] and no items of work"));
  EXPECT_THAT(usage([&] {
                giving("in_blocks", {.shape = {3, 3}, .dtype = DType::bfp8})({x});
              }),
              HasSubstr("its plan gives [3, 3] in bfp8; give bf16"));
  EXPECT_THAT(usage([&] {
                giving("negative", {.shape = {3, -3}})({x});
              }),
              HasSubstr("CustomKernel negative: [3, -3] has an extent below 0"));
  EXPECT_THAT(usage([&] { giving("talks", {.shape = {3}, .args = std::vector<u32>(46)})({x}); }),
              HasSubstr("CustomKernel talks: its plan gives [3] with 49 arguments in all; a kernel has 48"));
  EXPECT_EQ(usage([&] { giving("terse", {.shape = {3}, .args = std::vector<u32>(45)})({x}); }), "nothing was thrown");
  EXPECT_THAT(usage([&] { giving("made_of_nothing", {.shape = {3}})({none}); }),
              HasSubstr("its plan gives [3] of operand 0, [0, 3], which has no elements"));
  EXPECT_THAT(usage([&] { CustomKernel("no plan", "", {fp32}, same); }), HasSubstr("use letters, digits and _"));
  EXPECT_THAT(usage([&] { CustomKernel("no_plan", "", {fp32}, {}); }), HasSubstr("no_plan: there is no plan"));
  EXPECT_THAT(usage([&] { CustomKernel("of_blocks", "", {DType::bfp4}, same); }),
              HasSubstr("of_blocks: operands in bfp4; kernels get them as bf16"));
  EXPECT_THAT(usage([&] { CustomKernel("exp", "", {fp32}, same); }),
              HasSubstr("CustomKernel exp: the library has an operation of that name"));
  EXPECT_THAT(usage([&] { CustomKernel("add_times", "other", {fp32}, same); }),
              HasSubstr("CustomKernel add_times: another one has that name"));
  EXPECT_THAT(message_of<Unsupported>([&] { grad(sum(giving("flat_kernel", {.shape = {3}})({x})), {x}); }),
              HasSubstr("CustomKernel flat_kernel was made without a gradient"));
  const CustomKernel broken("broken_kernel", "\nextern \"C\" void kernel_brisc(const unsigned*) { undeclared(); }\n",
                            {fp32}, same);
  EXPECT_THAT(message_of<CompileError>([&] { broken({x}).to_host(); }),
              AllOf(HasSubstr("undeclared"), HasSubstr("broken_kernel.cc:2")));
}

}  // namespace
}  // namespace baretile::tensor_test
