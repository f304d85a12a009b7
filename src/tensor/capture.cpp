#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tensor/expr.h"

namespace baretile {

using compiler::Op;

namespace {

class Capturer {
 public:
  explicit Capturer(Capture& out) : out_(out) {}

  u32 visit(const std::shared_ptr<Expr>& root) {
    std::vector<std::pair<const std::shared_ptr<Expr>*, size_t>> path{{&root, 0}};
    while (!path.empty()) {
      auto& [expr, next] = path.back();
      const auto& inputs = (*expr)->inputs;
      if (next == 0 && numbers_.contains(expr->get())) {
        path.pop_back();
      } else if (next < inputs.size()) {
        path.push_back({&inputs[next++], 0});
      } else {
        add(*expr);
        path.pop_back();
      }
    }
    return numbers_.at(root.get());
  }

  // Nodes that someone outside keeps hold of, besides the graph's own edges.
  bool held(u32 node) const { return exprs_[node].use_count() > 1 + edges_[node]; }
  const std::shared_ptr<Expr>& expr(u32 node) const { return exprs_[node]; }

 private:
  void add(const std::shared_ptr<Expr>& expr) {
    if (!numbers_.try_emplace(expr.get(), u32(exprs_.size())).second) return;
    compiler::Node node = expr->node;
    if (node.op == Op::external) {
      node.attrs = {i64(out_.externals.size())};
      out_.externals.push_back(expr);
    }
    for (const auto& input : expr->inputs) {
      node.inputs.push_back(numbers_.at(input.get()));
      ++edges_[node.inputs.back()];
    }
    exprs_.push_back(expr);
    edges_.push_back(node.op == Op::external ? 1 : 0);
    out_.graph.nodes.push_back(std::move(node));
  }

  Capture& out_;
  std::unordered_map<const Expr*, u32> numbers_;
  std::vector<std::shared_ptr<Expr>> exprs_;
  std::vector<i64> edges_;
};

}  // namespace

Capture capture(std::span<const Tensor> tensors) {
  Capture out;
  Capturer capturer(out);
  for (const Tensor& tensor : tensors) {
    if (is_empty(tensor))
      throw Unsupported(fmt::format("jit: the function gives {}, which has no elements; make it outside.",
                                    compiler::to_string(tensor.shape())));
    u32 node = capturer.visit(tensor.expr());
    if (std::find(out.graph.outputs.begin(), out.graph.outputs.end(), node) != out.graph.outputs.end()) continue;
    out.graph.outputs.push_back(node);
    out.outputs.push_back(tensor.expr());
  }
  auto& nodes = out.graph.nodes;
  auto want = [&](u32 node) {
    if (std::find(out.graph.outputs.begin(), out.graph.outputs.end(), node) != out.graph.outputs.end()) return;
    out.graph.outputs.push_back(node);
    out.outputs.push_back(capturer.expr(node));
  };
  std::vector<bool> overwritten(nodes.size());
  for (auto& node : nodes) {
    if (node.op != Op::assign_rows) continue;
    bool is_view = compiler::info(nodes[node.inputs[0]].op).family ==
                   compiler::Family::view;  // others may look at the same buffer
    if (is_view || capturer.held(node.inputs[0])) {
      node.attrs[0] = 1;
    } else {
      overwritten[node.inputs[0]] = true;
    }
  }
  for (u32 i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::assign_rows && !overwritten[i]) want(i);
    bool reads_old =
        std::any_of(nodes[i].inputs.begin(), nodes[i].inputs.end(), [&](u32 input) { return overwritten[input]; });
    if (reads_old && nodes[i].op != Op::assign_rows && capturer.held(i)) want(i);
  }
  return out;
}

Runtime* Expr::runtime() const {
  if (home && !*home)
    throw UsageError(
        fmt::format("tensor {} {} belongs to a Runtime that was destroyed; keep it alive as long as its tensors.",
                    compiler::to_string(node.shape), compiler::to_string(node.dtype)));
  return home ? *home : nullptr;
}

Expr::~Expr() {
  std::vector<std::shared_ptr<Expr>> pending;
  auto take = [&](Expr& expr) {
    std::move(expr.inputs.begin(), expr.inputs.end(), std::back_inserter(pending));
    expr.inputs.clear();
    if (expr.custom) std::move(expr.custom->inputs.begin(), expr.custom->inputs.end(), std::back_inserter(pending));
    expr.custom.reset();
  };
  take(*this);
  while (!pending.empty()) {
    std::shared_ptr<Expr> expr = std::move(pending.back());
    pending.pop_back();
    if (expr.use_count() == 1) take(*expr);
  }
}

}  // namespace baretile
