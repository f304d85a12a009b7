#include "baretile/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "explain/print.h"
#include "tensor/expr.h"

namespace baretile {

std::string explain(std::span<const Tensor> tensors) {
  std::vector<Tensor> open;
  for (const Tensor& tensor : tensors) {
    if (checked("explain", tensor).expr()->node.op != compiler::Op::external) open.push_back(tensor);
  }
  const compiler::Graph graph = capture(open).graph;
  const compiler::FusionPlan plan = compiler::fuse(graph);
  const auto operations = std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const compiler::Node& node) {
    const compiler::Family family = compiler::info(node.op).family;
    return family != compiler::Family::external && family != compiler::Family::constant &&
           family != compiler::Family::view;
  });
  const auto count = [](auto number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  return fmt::format("{}{} became {}\n", compiler::to_string(plan), count(operations, "operation"),
                     count(plan.kernels.size(), "kernel"));
}

}  // namespace baretile
