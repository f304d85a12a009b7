// baretile show [EXAMPLE] [--stage STAGE]: what the compiler makes of a small expression, stage by stage. Needs no
// device.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "baretile/autograd.h"
#include "baretile/error.h"
#include "baretile/explain.h"
#include "baretile/nn.h"
#include "baretile/tensor.h"
#include "cli/command.h"
#include "compiler/compiler.h"
#include "compiler/emit/emit.h"
#include "explain/print.h"
#include "tensor/expr.h"

namespace baretile::cli {
namespace {

Tensor input(Shape shape, DType dtype = DType::fp32) { return Tensor::placeholder(std::move(shape), dtype); }

using Tensors = std::vector<Tensor>;

struct Example {
  const char *name, *expression;
  Tensors (*make)();
};

const Example kExamples[] = {
    {"relu", "relu(matmul(x, w)), fp32 [2, 2]",
     [] {
       return Tensors{relu(matmul(input({2, 2}), input({2, 2})))};
     }},
    {"mlp", "silu(matmul(x, g)) * matmul(x, u), fp32 [1, 576] by bf16 [576, 1536]",
     [] {
       Tensor x = input({1, 576}), g = input({576, 1536}, DType::bf16), u = input({576, 1536}, DType::bf16);
       return Tensors{silu(matmul(x, g)) * matmul(x, u)};
     }},
    {"softmax", "softmax(x), fp32 [5, 70]",
     [] {
       return Tensors{softmax(input({5, 70}))};
     }},
    {"rms_norm", "rms_norm(x, w), fp32 [1, 576]",
     [] {
       return Tensors{rms_norm(input({1, 576}), input({576}))};
     }},
    {"layer_norm", "layer_norm(x, w, b), bf16 [128, 128]",
     [] {
       return Tensors{
           nn::layer_norm(input({128, 128}, DType::bf16), input({128}, DType::bf16), input({128}, DType::bf16))};
     }},
    {"gelu", "gelu(x), fp32 [128, 128]",
     [] {
       return Tensors{gelu(input({128, 128}))};
     }},
    {"attention", "causal scaled_dot_product_attention(q, k, v), bf16 [1, 4, 64, 64]",
     [] {
       const auto part = [] { return input({1, 4, 64, 64}, DType::bf16); };
       return Tensors{nn::scaled_dot_product_attention(part(), part(), part(), {.causal = true})};
     }},
    {"rope", "rope(x, cos, sin), fp32 [9, 37, 64]",
     [] {
       return Tensors{rope(input({9, 37, 64}), input({37, 64}), input({37, 64}))};
     }},
    {"mlp_step", "loss and next weights of relu(x @ w) @ v against y, fp32 [32, 64], [64, 64], [64, 32]",
     [] {
       const Tensor w = input({64, 64}), v = input({64, 32});
       const Tensor error = matmul(relu(matmul(input({32, 64}), w)), v) - input({32, 32}), loss = sum(error * error);
       const Tensors slopes = grad(loss, {w, v});
       return Tensors{loss, w - 0.1 * slopes[0], v - 0.1 * slopes[1]};
     }},
    {"assign", "cache.assign_rows(index, values), fp32 [3, 64, 64]",
     [] {
       Tensor cache = input({3, 64, 64});
       cache.assign_rows(input({1}, DType::int32), input({3, 1, 64}));
       return Tensors{cache};
     }},
    {"transpose", "x.transpose() + 1, fp32 [40, 6]",
     [] {
       return Tensors{input({40, 6}).transpose() + 1};
     }},
};

constexpr const char* kStages[] = {"graph", "kernels", "schedule", "source", "program"};

std::string names(auto&& list, auto name) {
  std::string text;
  for (const auto& item : list) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(item));
  return text;
}

int run(Arguments& arguments) {
  const std::string stage = arguments.option("--stage", "all");
  const std::string wanted = arguments.words.empty() ? kExamples[0].name : arguments.words[0];
  if (!arguments.words.empty()) arguments.words.erase(arguments.words.begin());
  arguments.expect_no_more();
  const auto* example =
      std::find_if(std::begin(kExamples), std::end(kExamples), [&](const Example& e) { return wanted == e.name; });
  if (example == std::end(kExamples)) {
    throw UsageError(fmt::format("show: no example '{}'; there are {}.", wanted,
                                 names(kExamples, [](const Example& e) { return e.name; })));
  }
  if (stage != "all" && std::find(std::begin(kStages), std::end(kStages), stage) == std::end(kStages)) {
    throw UsageError(
        fmt::format("show: no stage '{}'; there are {}.", stage, names(kStages, [](const char* s) { return s; })));
  }
  auto asked = [&](const char* name) { return stage == "all" || stage == name; };
  auto title = [&](const char* text) {
    if (stage == "all") fmt::print("--- {}\n", text);
  };
  if (stage == "all") fmt::print("{}\n", example->expression);

  const Tensors tensors = example->make();
  const compiler::Graph graph = capture(tensors).graph;
  title("graph");
  if (asked("graph")) fmt::print("{}", compiler::to_string(graph));
  title("kernels, and why each of their results goes to memory");
  if (asked("kernels")) fmt::print("{}", explain(tensors));
  const compiler::Plans plans = compiler::plan(graph);
  title("schedule: kernels, buffers, launches");
  if (asked("schedule")) fmt::print("{}", compiler::to_string(plans.schedule));
  if (!asked("source") && !asked("program")) return 0;
  title("source");
  if (asked("source")) {
    for (const compiler::KernelSource& source : plans.sources) fmt::print("{}\n", source.text);
  }
  title("program");
  if (asked("program")) {
    auto images = compiler::build_kernels(plans.sources);
    fmt::print("{}", compiler::to_string(compiler::pack(plans.schedule, plans.sources, std::move(images))));
  }
  return 0;
}

}  // namespace

extern const Command kShow = {
    "show", "what the compiler makes of an expression, stage by stage",
    "Usage: baretile show [EXAMPLE] [--stage graph|kernels|schedule|source|program]\n\n"
    "Prints an expression's graph, the kernels, buffers and launches it becomes, their sources and the program.\n"
    "Examples: relu, mlp, softmax, rms_norm, layer_norm, gelu, attention, rope, mlp_step, assign, transpose.\n",
    run};

}  // namespace baretile::cli
