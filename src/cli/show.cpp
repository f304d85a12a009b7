// baretile show [EXAMPLE] [--stage STAGE]: what the compiler makes of a small expression, stage by stage. Needs no
// device.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "baretile/error.h"
#include "baretile/tensor.h"
#include "cli/command.h"
#include "compiler/compiler.h"
#include "compiler/emit/emit.h"
#include "compiler/print.h"
#include "tensor/expr.h"

namespace baretile::cli {
namespace {

Tensor input(Shape shape, DType dtype = DType::fp32) { return Tensor::placeholder(std::move(shape), dtype); }

Tensor written_rows() {
  Tensor cache = input({3, 64, 64});
  cache.assign_rows(input({1}, DType::int32), input({3, 1, 64}));
  return cache;
}

struct Example {
  const char *name, *expression;
  Tensor (*make)();
};

const Example kExamples[] = {
    {"relu", "relu(matmul(x, w)), fp32 [2, 2]",
     [] {
       return relu(matmul(input({2, 2}), input({2, 2})));
     }},
    {"mlp", "silu(matmul(x, g)) * matmul(x, u), fp32 [1, 576] by bf16 [576, 1536]",
     [] {
       Tensor x = input({1, 576});
       return silu(matmul(x, input({576, 1536}, DType::bf16))) * matmul(x, input({576, 1536}, DType::bf16));
     }},
    {"softmax", "softmax(x), fp32 [5, 70]",
     [] {
       return softmax(input({5, 70}));
     }},
    {"rms_norm", "rms_norm(x, w), fp32 [1, 576]",
     [] {
       return rms_norm(input({1, 576}), input({576}));
     }},
    {"rope", "rope(x, cos, sin), fp32 [9, 37, 64]",
     [] {
       return rope(input({9, 37, 64}), input({37, 64}), input({37, 64}));
     }},
    {"assign", "cache.assign_rows(index, values), fp32 [3, 64, 64]", written_rows},
    {"transpose", "x.transpose() + 1, fp32 [40, 6]",
     [] {
       return input({40, 6}).transpose() + 1;
     }},
};

constexpr const char* kStages[] = {"graph", "schedule", "source", "program"};

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

  const Tensor tensor = example->make();
  const compiler::Graph graph = capture(std::span(&tensor, 1)).graph;
  title("graph");
  if (asked("graph")) fmt::print("{}", compiler::to_string(graph));
  const compiler::Schedule schedule = compiler::schedule(compiler::fuse(graph));
  title("schedule: kernels, buffers, launches");
  if (asked("schedule")) fmt::print("{}", compiler::to_string(schedule));
  if (!asked("source") && !asked("program")) return 0;
  const auto sources = compiler::emit_all(schedule);
  title("source");
  if (asked("source")) {
    for (const compiler::KernelSource& source : sources) fmt::print("{}\n", source.text);
  }
  title("program");
  if (asked("program"))
    fmt::print("{}", compiler::to_string(compiler::pack(schedule, compiler::build_kernels(sources))));
  return 0;
}

}  // namespace

extern const Command kShow = {
    "show", "what the compiler makes of an expression, stage by stage",
    "Usage: baretile show [EXAMPLE] [--stage graph|schedule|source|program]\n\n"
    "Prints an expression's graph, the kernels, buffers and launches it becomes, their sources and the program.\n"
    "Examples: relu, mlp, softmax, rms_norm, rope, assign, transpose.\n",
    run};

}  // namespace baretile::cli
