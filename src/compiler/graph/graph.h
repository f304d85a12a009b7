// A graph is what the caller asked for: nodes in topological order, each an operation on earlier nodes. A plain value.
#pragma once
#include <string>
#include <vector>

#include "baretile/program.h"
#include "compiler/graph/op.h"

namespace baretile::compiler {

using Shape = std::vector<i64>;

struct Node {
  Op op = Op::external;
  DType dtype = DType::fp32;
  Shape shape;
  std::vector<u32> inputs;
  // external: its number; reduce, flip, concat: axis; stride: axis, n; permute: axes; slice: first index of each axis;
  // matmul: fidelity phases; attention: those, causal; assign_rows: 1 if the old value must survive;
  // custom: its number; custom_kernel: its number, then CustomWork::args.
  std::vector<i64> attrs;
  double value = 0;  // constant; attention: the scores' factor
  bool operator==(const Node&) const = default;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<u32> outputs;  // nodes whose values the caller wants, in this order
  bool operator==(const Graph&) const = default;
};

// Any shape seen as a batch of matrices.
struct Extents {
  i64 batch = 1, rows = 1, cols = 1;
  bool operator==(const Extents&) const = default;
};
Extents extents(const Shape& shape);
i64 element_count(const Shape& shape);

u64 hash(const Graph& graph);

// The same graph with equal nodes once. Numbers of nodes change, the order of outputs does not.
Graph simplify(const Graph& graph);

std::string to_string(const Shape& shape);  // [2, 3]
const char* to_string(DType dtype);

}  // namespace baretile::compiler
