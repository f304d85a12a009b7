// A node of the caller's expression graph, shared by the tensors that use it.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "baretile/runtime.h"
#include "baretile/tensor.h"
#include "compiler/graph/graph.h"

namespace baretile {

struct Expr {
  compiler::Node node;  // its inputs are the members `inputs`
  std::vector<std::shared_ptr<Expr>> inputs;
  Runtime* runtime = nullptr;
  DeviceBuffer storage;  // of an external, in the default tiling
  ~Expr();               // without recursion: chains grow long
};

// The graph under some tensors. Writes in place that it contains are outputs of their own, after the wanted ones.
struct Capture {
  compiler::Graph graph;
  std::vector<std::shared_ptr<Expr>> externals, outputs;
};
Capture capture(std::span<const Tensor> tensors);

}  // namespace baretile
