// Reverse mode as a rewrite of expressions: element-wise rules are columns of ops.def, the others stand here.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "baretile/error.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::Family;
using compiler::Op;

namespace {

Tensor constant(double value, const Tensor& like, Shape shape) {
  return filled(like.runtime(), std::move(shape), value, without_blocks(like.dtype()));
}

// A column of ops.def, for operand i of three at most.
Tensor elementwise(const std::shared_ptr<Expr>& expr, size_t i, const Tensor& g) {
  const auto operand = [&](size_t n) { return n < expr->inputs.size() ? Tensor(expr->inputs[n]) : Tensor(); };
  [[maybe_unused]] const Tensor none, r(expr), x = operand(0), y = operand(1), z = operand(2);
  switch (expr->node.op) {
#define UNARY(name, doc, kind, reference, gradient, ...) \
  case Op::name:                                         \
    return gradient;
#define BINARY(name, doc, kind, reference, gradient_x, gradient_y, ...) \
  case Op::name:                                                        \
    return i == 0 ? Tensor(gradient_x) : Tensor(gradient_y);
#define TERNARY(name, doc, kind, reference, gradient_x, gradient_y, gradient_z, ...) \
  case Op::name:                                                                     \
    return i == 0 ? Tensor(gradient_x) : i == 1 ? Tensor(gradient_y) : Tensor(gradient_z);
#include "baretile/ops.def"
    default:
      return none;
  }
}

Tensor of_view(const compiler::Node& node, const Shape& from, Tensor g) {
  const auto& attrs = node.attrs;
  if (node.op == Op::reshape) return g.reshape(from);
  if (node.op == Op::flip) return g.flip(attrs[0]);
  if (node.op == Op::permute) {
    std::vector<i64> inverse(from.size());
    for (size_t axis = 0; axis < from.size(); ++axis) inverse[size_t(attrs[axis])] = i64(axis);
    return g.permute(inverse);
  }
  if (node.op == Op::stride) {  // zeros between the elements
    const i64 axis = attrs[0], step = attrs[1];
    Shape spread = node.shape;
    spread[size_t(axis)] *= step;
    return g.unsqueeze(axis + 1).pad(axis + 1, 0, step - 1).reshape(spread).slice(axis, 0, from[size_t(axis)]);
  }
  for (size_t axis = from.size(); axis-- > 0;) {  // the last axes first: they shrink without being moved
    const i64 had = from[axis], has = node.shape[axis];
    if (had == has) continue;
    g = node.op == Op::expand ? sum(g, i64(axis), true) : g.pad(i64(axis), attrs[axis], had - has - attrs[axis]);
  }
  return g;
}

Tensor of_reduction(const std::shared_ptr<Expr>& expr, const Tensor& g) {
  const Tensor x(expr->inputs[0]), r(expr);
  const i64 axis = expr->node.attrs[0];
  switch (expr->node.op) {
    case Op::sum:
      return g.expand(x.shape());
    case Op::max:
    case Op::min: {  // those equal to it share evenly
      const Tensor found = equal(x, r);
      return where(found, g * reciprocal(sum(found.cast(g.dtype()), axis, true)), 0);
    }
    case Op::prod: {  // the product of all others: without the zeros, and only where no other is zero
      const Tensor zero = equal(x, 0), others = where(zero, 1, x), zeros = sum(zero.cast(g.dtype()), axis, true);
      return where(where(zero, less(zeros, 2), less(zeros, 1)), g * prod(others, axis, true) * reciprocal(others), 0);
    }
    default:
      throw Unsupported(fmt::format("grad: {} has no gradient yet; detach its operand.", info(expr->node.op).name));
  }
}

Tensor of_matmul(const Expr& expr, size_t i, const Tensor& g) {
  const Tensor x(expr.inputs[0]), y(expr.inputs[1]);
  const Precision precision = expr.node.attrs[0] == 2 ? Precision::fast : Precision::standard;
  if (i == 0) return matmul(g, y.transpose(), precision);
  // Of transposed weights: their own gradient, so that nobody has to transpose it.
  if (y.expr()->node.op == Op::permute) return matmul(g.transpose(), x, precision).transpose();
  return matmul(x.transpose(), g, precision);
}

// Each row of the table gets the sum of the gradients of all its copies: every copy takes that sum, then all are
// written, equal ones to the same place. The products are with 0 and 1, of gradients rounded to 14 bits (fp32).
Tensor of_gather(const Tensor& table, const Tensor& index, const Tensor& g) {
  const i64 count = index.size(0);
  const Tensor same = equal(index.reshape({count, 1}), index.reshape({1, count}));
  Tensor out = constant(0, g, table.shape());
  out.assign_rows(index, matmul(g.transpose(), same).transpose());
  return out;
}

Tensor of_scatter(const Expr& expr, size_t i, const Tensor& g) {
  const Tensor index(expr.inputs[2]);
  if (i == 1) return g.index_select(-2, index);
  Tensor out = g;
  out.assign_rows(index, constant(0, g, expr.inputs[1]->node.shape));
  return out;
}

Tensor of_concat(const Expr& expr, size_t i, const Tensor& g) {
  const size_t axis = size_t(expr.node.attrs[0]);
  i64 first = 0;
  for (size_t before = 0; before < i; ++before) first += expr.inputs[before]->node.shape[axis];
  return g.slice(i64(axis), first, first + expr.inputs[i]->node.shape[axis]);
}

// What gradient g of an expression means for its input i.
Tensor gradient(const std::shared_ptr<Expr>& expr, size_t i, const Tensor& g) {
  const auto& input = expr->inputs[i];
  switch (info(expr->node.op).family) {
    case Family::view:
      return of_view(expr->node, input->node.shape, g);
    case Family::cast:
      return g;
    case Family::reduce:
      return of_reduction(expr, g);
    case Family::contraction:
      return of_matmul(*expr, i, g);
    case Family::gather:
      return of_gather(Tensor(input), Tensor(expr->inputs[1]), g);
    case Family::scatter:
      return of_scatter(*expr, i, g);
    case Family::join:
      return of_concat(*expr, i, g);
    default:
      return elementwise(expr, i, g);
  }
}

// An expression that the loss depends on.
struct Visit {
  std::shared_ptr<Expr> expr;
  std::vector<std::shared_ptr<Expr>> sources;  // where its gradient flows to; null where it does not
  bool needed = false;                         // something wanted lies below
  Tensor gradient;                             // the sum so far
};

std::vector<std::shared_ptr<Expr>> sources_of(const Expr& expr) {
  auto sources = expr.custom ? expr.custom->inputs : expr.inputs;
  if (!expr.custom)
    for (u32 input : expr.detached) sources[input] = nullptr;
  for (auto& source : sources)
    if (source && !is_float(source->node.dtype)) source = nullptr;
  return sources;
}

class Tape {
 public:
  Tape(const Tensor& loss, std::span<const Tensor> wrt) {
    std::vector<std::pair<Visit*, size_t>> path;
    const auto enter = [&](const std::shared_ptr<Expr>& expr) {
      auto [entry, fresh] = visits_.try_emplace(expr.get());
      if (!fresh) return;
      entry->second = {expr, sources_of(*expr), false, {}};
      path.push_back({&entry->second, 0});
    };
    enter(loss.expr());
    while (!path.empty()) {
      auto& [visit, next] = path.back();
      if (next < visit->sources.size()) {
        if (const auto& source = visit->sources[next++]) enter(source);
      } else {
        order_.push_back(visit);
        path.pop_back();
      }
    }
    for (const Tensor& x : wrt)
      if (Visit* visit = find(x.expr())) visit->needed = true;
    for (Visit* visit : order_)
      for (const auto& source : visit->sources) visit->needed = visit->needed || (source && find(source)->needed);
  }

  // The sum of what comes from all readers is complete before it is passed on.
  void run(const Tensor& seed) {
    order_.back()->gradient = seed;
    for (auto visit = order_.rbegin(); visit != order_.rend(); ++visit)
      if ((*visit)->needed && (*visit)->gradient) pass(**visit);
  }

  Visit* find(const std::shared_ptr<Expr>& expr) {
    auto found = visits_.find(expr.get());
    return found == visits_.end() ? nullptr : &found->second;
  }

 private:
  void pass(const Visit& visit) {
    const auto& custom = visit.expr->custom;
    const std::vector<Tensor> given = custom ? custom->gradient(visit.gradient) : std::vector<Tensor>();
    if (custom && given.size() != visit.sources.size())
      throw UsageError(fmt::format("custom_gradient: the function gave {} gradients for {} inputs; give one each.",
                                   given.size(), visit.sources.size()));
    for (size_t i = 0; i < visit.sources.size(); ++i) {
      Visit* to = visit.sources[i] ? find(visit.sources[i]) : nullptr;
      if (!to || !to->needed) continue;
      Tensor part = custom ? given[i] : gradient(visit.expr, i, visit.gradient);
      if (!part) continue;
      const compiler::Node& node = to->expr->node;
      part = part.cast(without_blocks(node.dtype));
      if (part.shape() != node.shape)
        throw UsageError(fmt::format("custom_gradient: the function gave {} for input {} of shape {}.",
                                     compiler::to_string(part.shape()), i, compiler::to_string(node.shape)));
      to->gradient = to->gradient ? to->gradient + part : part;
    }
  }

  std::unordered_map<const Expr*, Visit> visits_;
  std::vector<Visit*> order_;  // inputs first
};

// For messages; only floats have gradients.
std::string describe(const std::string& name, const Tensor& x) {
  std::string text = fmt::format("{} is {} {}", name, compiler::to_string(x.dtype()), compiler::to_string(x.shape()));
  if (!is_float(x.dtype())) throw UsageError(fmt::format("grad: {}; only bf16 and fp32 have gradients.", text));
  return text;
}

}  // namespace

std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> wrt, const Tensor& seed) {
  const std::string given = describe("the loss", loss);
  if (seed ? seed.shape() != loss.shape() : compiler::element_count(loss.shape()) != 1)
    throw UsageError(fmt::format("grad: {}; give a seed of its shape, or reduce it to one element.", given));
  Tape tape(loss, wrt);
  if (!loss.detached()) tape.run(seed ? seed.cast(without_blocks(loss.dtype())) : constant(1, loss, loss.shape()));
  std::vector<Tensor> out;
  for (size_t i = 0; i < wrt.size(); ++i) {
    const std::string wanted = describe(fmt::format("tensor {} of those wanted", i), wrt[i]);
    const Visit* visit = tape.find(wrt[i].expr());
    if (is_empty(wrt[i])) {
      out.push_back(constant(0, wrt[i], wrt[i].shape()));
      continue;
    }
    if (!visit || !visit->gradient)
      throw UsageError(
          fmt::format("grad: {}, from which no differentiable path leads to the loss; call grad before the "
                      "loss or a value on the way is realized.",
                      wanted));
    out.push_back(visit->gradient);
  }
  return out;
}

}  // namespace baretile
