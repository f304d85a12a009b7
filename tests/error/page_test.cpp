// docs/errors.md is what this test writes: each mistake is made, and the page must say what baretile says.
// BARETILE_UPDATE_DOCS=1 writes it anew.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include "baretile/autograd.h"
#include "baretile/custom.h"
#include "baretile/files.h"
#include "baretile/runtime.h"
#include "baretile/tensor.h"
#include "pci/simulators.h"

namespace baretile {
namespace {

struct Mistake {
  const char* topic;
  std::string code;
  std::function<void(Runtime&)> make;
  const char* cure;
};

Tensor of(Shape shape, DType dtype = DType::fp32) { return Tensor::placeholder(std::move(shape), dtype); }
constexpr DType int32 = DType::int32, bf16 = DType::bf16;

const CustomKernel::Plan plan = [](std::span<const Shape> x) {
  return CustomKernel::Result{.shape = {x[0][0]}, .items = u32(x[1][0])};
};
const CustomKernel kernel("kernel", "", {DType::fp32, DType::fp32}, plan);

#define MISTAKE(topic, cure, ...)                                                \
  Mistake {                                                                      \
    topic, #__VA_ARGS__, []([[maybe_unused]] Runtime& rt) { __VA_ARGS__; }, cure \
  }

const Mistake kMistakes[] = {
    MISTAKE("Shapes", "Give both the same extents, or 1 where one is to be repeated: `of({4, 1})`.",
            of({3, 4}) + of({4, 4})),
    MISTAKE("Shapes", "`transpose()` the side whose axes are the other way round.", matmul(of({2, 3}), of({4, 5}))),
    MISTAKE("Shapes", "A number multiplies element by element: `x * 2`.", matmul(of({}), of({3, 4}))),
    MISTAKE("Shapes", "Let one extent be -1, which is then computed.", of({2, 3}).reshape({4, 2})),
    MISTAKE("Shapes", "Leave no more than one extent open.", of({2, 3}).reshape({-1, -1})),
    MISTAKE("Shapes", "`repeat` puts copies of a longer axis end to end.", of({2, 3}).expand({2, 6})),
    MISTAKE("Shapes", "Only axes of extent 1 hold nothing but themselves; `reshape` merges others.",
            of({2, 3}).squeeze(0)),
    MISTAKE("Shapes", "`slice`, `pad` or `reshape` until all but the joined axis agree.",
            concat({of({2, 3}), of({3, 2})}, 0)),
    MISTAKE("Shapes", "The parts must make up the axis.", of({2, 7}).split(1, {3, 3})),
    MISTAKE("Shapes", "An axis may have no elements, but no fewer.", of({2, -1})),
    MISTAKE("Shapes", "`reshape` to one axis first.", outer(of({2, 2}), of({3}))),
    MISTAKE("Shapes", "Give it a second axis: `unsqueeze(0)`.", tril(of({4}))),
    MISTAKE("Axes", "Axes are numbered from 0, or from the last with -1.", sum(of({2, 3}), 2)),
    MISTAKE("Axes", "A new axis comes before, between or behind those that are there.", of({2, 3}).unsqueeze(4)),
    MISTAKE("Axes", "Name every axis once.", of({2, 3}).permute({0, 0})),
    MISTAKE("Axes", "`unsqueeze` makes the second axis.", of({4}).transpose()),
    MISTAKE("Ranges", "The end is not included: `slice(1, 1, 3)` takes columns 1 and 2.", of({2, 3}).slice(1, 1, 4)),
    MISTAKE("Ranges", "Give the end behind the first, or -1 as a step.", of({2, 3}).slice(0, 2, 1)),
    MISTAKE("Ranges", "Give 1, or -1 to go backwards.", of({9}).slice(0, 0, 9, 0)),
    MISTAKE("Ranges", "A step of 0 never arrives.", Tensor::arange(rt, 0, 5, 0)),
    MISTAKE("Ranges", "There is no largest of no elements: test the shape before, or `pad` with -INFINITY.",
            max(of({0, 3}), 0)),
    MISTAKE("Ranges", "Test the shape before.", argmax(of({2, 0}), 1)),
    MISTAKE("Ranges", "Any index is out of range there.", gather_rows(of({0, 3}), of({2}, int32))),
    MISTAKE("Ranges", "`slice` takes elements away.", of({4}).pad(0, -1, 2)),
    MISTAKE("Ranges", "The whole box must lie in the tensor.",
            [] {
              Tensor x = of({4, 2});
              x.assign(0, 3, of({2, 2}));
            }()),
    MISTAKE("Ranges", "The divisor, elements less `correction`, must be above 0.", var(of({5, 1}), 1, false, 1)),
    MISTAKE("Dtypes", "Bits are those of whole numbers: `cast(int32)`.", bit_and(of({4}), 1)),
    MISTAKE("Dtypes", "Give a number that the dtype holds, or another dtype.", Tensor::full(rt, {3}, 0.5, int32)),
    MISTAKE("Dtypes", "Take a whole step, or fp32.", Tensor::arange(rt, 0, 2, 0.5, int32)),
    MISTAKE("Dtypes", "Give integers: `std::vector<i32>`.", Tensor::from_host(rt, std::vector<float>(5), {5}, int32)),
    MISTAKE("Dtypes", "Use `to_host_int32`, or `cast(fp32)`.", Tensor::arange(rt, 0, 3).to_host()),
    MISTAKE("Dtypes", "`cast(int32)` the indices.", gather_rows(of({5, 4}), of({2}))),
    MISTAKE("Dtypes", "`cast` one of them.", concat({of({2, 3}), of({2, 3}, bf16)}, 0)),
    MISTAKE("einsum", "The arrow says what the result's axes are: `\"ij,jk->ik\"`.",
            einsum("ij,jk", {of({2, 3}), of({3, 4})})),
    MISTAKE("einsum", "One letter for each axis.", einsum("ij,jk->ik", {of({2, 3}), of({3})})),
    MISTAKE("einsum", "Axes of the result come from the operands.", einsum("ij->ik", {of({2, 3})})),
    MISTAKE("einsum", "Diagonals are `sum(where(equal(rows, columns), x, 0), axis)`.", einsum("ii->i", {of({3, 3})})),
    MISTAKE("einsum", "A result has each axis once.", einsum("ij->ijj", {of({2, 3})})),
    MISTAKE("einsum", "A letter is one extent wherever it stands.", einsum("ij,ij->", {of({2, 6}), of({3, 4})})),
    MISTAKE("einsum", "One tensor for each part before the arrow.", einsum("ij,jk->ik", {of({2, 3})})),
    MISTAKE("einsum", "`einsum(\"ik,k->i\", {einsum(\"ij,jk->ik\", {x, y}), z})`.",
            einsum("ij,jk,k->i", {of({2, 3}), of({3, 4}), of({4})})),
    MISTAKE("Kernels of your own", "As many operands as the kernel was made for.", kernel({of({3})})),
    MISTAKE("Kernels of your own", "A kernel reads the pages of one dtype: `cast`, or make another kernel.",
            kernel({of({3}), of({3}, bf16)})),
    MISTAKE("Kernels of your own", "The plan says into how many pieces the work falls: `Result::items`.",
            kernel({of({3}), of({0})})),
    MISTAKE("Kernels of your own", "Test the shape before; no elements may mean anything to a kernel.",
            kernel({of({3}), of({2, 0})})),
    MISTAKE("Kernels of your own", "One name for one text.", CustomKernel("kernel", "another text", {}, plan)),
    MISTAKE("Kernels of your own", "Give it one when it is made, or `detach()` what needs none.",
            [] {
              const Tensor x = of({3});
              grad(sum(kernel({x, x})), {x});
            }()),
    MISTAKE("Gradients", "`cast(fp32)` before the computation; integers do not change by a little.",
            grad(sum(of({3}, int32)), {of({3}, int32)})),
    MISTAKE("Gradients", "`sum` or `mean` it, or say what each element counts for.", grad(of({3}) * 2, {of({3})})),
    MISTAKE("Gradients", "Ask for tensors that the loss was computed from.", grad(sum(of({3})), {of({3})})),
    MISTAKE("Files", "`cast(fp32)`, which holds every value, or `save_safetensors`.", save_npy("x.npy", of({2}, bf16))),
    MISTAKE("Files", "`cast(bf16)`, which holds every value.",
            save_safetensors("x.safetensors", {{"w", of({2, 2}, DType::bfp8)}})),
    MISTAKE("Values", "Assign a tensor to it before.", Tensor() + 1),
    MISTAKE("Values", "Only tensors made with a `Runtime` have values.", of({2}).to_host()),
    MISTAKE("Values", "As many values as elements.", Tensor::from_host(rt, std::vector<float>(5), {2, 3})),
    MISTAKE("Values", "Declare the `Runtime` before its tensors, so that it goes after them.",
            [] {
              std::optional<Runtime> other("sim");
              const Tensor x = Tensor::full(*other, {2, 3}, 1, bf16);
              other.reset();
              x.to_host();
            }()),
    MISTAKE("Values", "Nest all rows alike.", Tensor::of(rt, {{1, 2}, {3}})),
};

std::string message_of(const Mistake& mistake, Runtime& runtime) {
  try {
    mistake.make(runtime);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const Unsupported& error) {
    return error.what();
  }
  ADD_FAILURE() << mistake.code << " is no mistake";
  return {};
}

std::string page(Runtime& runtime) {
  std::string out =
      "# Errors\n\nWhat baretile says to mistakes, and what to do then. `of(shape, dtype)` stands for a tensor, `rt` "
      "for a "
      "`Runtime`,\n`kernel` for a `CustomKernel` of two tensors.\nAll of these are `UsageError`s, or `Unsupported` "
      "where something valid is not done here; see "
      "`include/baretile/error.h`.\n";
  std::string topic;
  for (const Mistake& mistake : kMistakes) {
    if (topic != mistake.topic) out += fmt::format("\n## {}\n", topic = mistake.topic);
    out += fmt::format("\n`{}`\n> {}\n\n{}\n", mistake.code, message_of(mistake, runtime), mistake.cure);
  }
  return out;
}

TEST(ErrorsPage, SaysWhatBaretileSays) {
  SKIP_WITHOUT_SIMULATOR("sim");
  Runtime runtime("sim");
  const std::string path = BARETILE_SOURCE_DIR "/docs/errors.md", wanted = page(runtime);
  if (std::getenv("BARETILE_UPDATE_DOCS")) std::ofstream(path) << wanted;
  std::stringstream there;
  there << std::ifstream(path).rdbuf();
  EXPECT_EQ(there.str(), wanted) << "write it anew: BARETILE_UPDATE_DOCS=1 error_test --gtest_filter=ErrorsPage.*";
}

}  // namespace
}  // namespace baretile
