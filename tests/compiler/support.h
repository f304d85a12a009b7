// Graphs from tensors without values, compiled up to the schedule and run by the evaluator against the reference.
#pragma once
#include <gmock/gmock.h>

#include <random>

#include "baretile/tensor.h"
#include "compiler/evaluator.h"
#include "explain/print.h"
#include "tensor/expr.h"

namespace baretile::compiler::test {

// Values for the externals of a graph: multiples of 1/8 in [-2, 2], exact in bf16; `index_limit` bounds int32 ones.
inline std::vector<Values> random_externals(const Graph& graph, u32 seed, i64 index_limit) {
  std::mt19937 random(seed);
  std::vector<Values> out;
  for (const Node& node : graph.nodes) {
    if (node.op != Op::external) continue;
    Values values(size_t(element_count(node.shape)));
    for (double& value : values) value = (int(random() % 33) - 16) / 8.0;
    if (node.dtype == DType::int32) {
      i64 first = i64(random() % u64(index_limit - i64(values.size()) + 1));
      for (double& value : values) value = double(first++);
    }
    out.push_back(std::move(values));
  }
  return out;
}

struct Result {
  Graph graph;
  FusionPlan plan;
  Schedule schedule;
  size_t copies() const {
    return size_t(std::count_if(schedule.launches.begin(), schedule.launches.end(), [&](const Schedule::Item& launch) {
      const KernelSpec& spec = schedule.kernels[launch.kernel];
      return (spec.kind == KernelKind::move && spec.move.kind == MoveKernel::Kind::copy) ||
             spec.name.starts_with("convert");
    }));
  }
};

inline Result scheduled(std::vector<Tensor> tensors) {
  Result r;
  Capture captured = capture(tensors);
  r.graph = captured.graph;
  r.plan = fuse(r.graph);
  r.schedule = schedule(r.plan);
  return r;
}

// Also checks every output against the reference.
inline Result checked(std::vector<Tensor> tensors, double tolerance = 1e-5, i64 index_limit = 32, u32 seed = 1) {
  Result r = scheduled(tensors);
  auto externals = random_externals(r.graph, seed, index_limit);
  auto expected = reference::outputs(r.graph, externals);
  Evaluator evaluator(r.schedule, externals);
  try {
    evaluator.run();
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what() << "\n" << to_string(r.graph) << to_string(r.schedule);
    return r;
  }
  auto slots = output_slots(r.plan);
  for (size_t o = 0; o < expected.size(); ++o) {
    Values actual = evaluator.external(slots[o]);
    if (actual.size() != expected[o].size()) {
      ADD_FAILURE() << "output " << o << " has another size";
      continue;
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      if (std::abs(actual[i] - expected[o][i]) <= tolerance * std::max(1.0, std::abs(expected[o][i]))) continue;
      ADD_FAILURE() << fmt::format("output {} element {}: {} instead of {}\n{}{}", o, i, actual[i], expected[o][i],
                                   to_string(r.graph), to_string(r.schedule));
      break;
    }
  }
  return r;
}

inline Tensor input(Shape shape, DType dtype = DType::fp32) { return Tensor::placeholder(std::move(shape), dtype); }

}  // namespace baretile::compiler::test
