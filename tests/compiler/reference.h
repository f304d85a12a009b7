// What a graph means, by the book: every node computed on its own in double, from ops.def's references and plain index
// arithmetic.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "compiler/graph/graph.h"
#include "tensor/format.h"

namespace baretile::compiler::reference {

using Values = std::vector<double>;

// Index of an element in each axis, and back.
inline Shape unravel(i64 element, const Shape& shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) index[axis] = element % shape[axis];
  return index;
}
inline i64 ravel(const Shape& index, const Shape& shape) {
  i64 element = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) element = element * shape[axis] + index[axis];
  return element;
}

inline double unary(Op op, [[maybe_unused]] double x) {
  switch (op) {
#define UNARY(name, doc, kind, reference, gradient, ulp) \
  case Op::name:                                         \
    return reference;
#include "baretile/ops.def"
    default:
      return 0;
  }
}
inline double binary(Op op, double x, double y) {
  switch (op) {
#define BINARY(name, doc, kind, reference, gx, gy, ulp) \
  case Op::name:                                        \
    return reference;
#include "baretile/ops.def"
    default:
      return 0;
  }
}
inline double ternary(Op op, double x, double y, double z) {
  switch (op) {
#define TERNARY(name, doc, kind, reference, gx, gy, gz, ulp) \
  case Op::name:                                             \
    return reference;
#include "baretile/ops.def"
    default:
      return 0;
  }
}
inline double reduce_start(Op op) {
  switch (op) {
#define REDUCE(name, doc, kind, identity, fold, reference, ulp) \
  case Op::name:                                    \
    return identity;
#include "baretile/ops.def"
    default:
      return 0;
  }
}
inline double reduce(Op op, double x, double y) {
  switch (op) {
#define REDUCE(name, doc, kind, identity, fold, reference, ulp) \
  case Op::name:                                    \
    return reference;
#include "baretile/ops.def"
    default:
      return 0;
  }
}

// Element of the input that a view's element is.
inline i64 viewed(const Node& node, const Shape& from, i64 element) {
  if (node.op == Op::reshape) return element;
  Shape index = unravel(element, node.shape), source(from.size());
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (node.op == Op::permute) source[size_t(node.attrs[axis])] = index[axis];
    if (node.op == Op::slice) source[axis] = index[axis] + node.attrs[axis];
    if (node.op == Op::flip) source[axis] = i64(axis) == node.attrs[0] ? from[axis] - 1 - index[axis] : index[axis];
    if (node.op == Op::stride) source[axis] = i64(axis) == node.attrs[0] ? index[axis] * node.attrs[1] : index[axis];
    if (node.op == Op::expand) source[axis] = from[axis] == 1 ? 0 : index[axis];
  }
  return ravel(source, from);
}

inline Values matmul(const Node& node, const Shape& left, const Values& x, const Values& y) {
  Extents e = extents(node.shape);
  i64 k_count = left.back();
  Values out(size_t(element_count(node.shape)));
  for (i64 b = 0; b < e.batch; ++b)
    for (i64 i = 0; i < e.rows; ++i)
      for (i64 j = 0; j < e.cols; ++j)
        for (i64 k = 0; k < k_count; ++k)
          out[size_t((b * e.rows + i) * e.cols + j)] +=
              x[size_t((b * e.rows + i) * k_count + k)] * y[size_t((b * k_count + k) * e.cols + j)];
  return out;
}

inline Values attention(const Graph& graph, const Node& node, const std::vector<Values>& known) {
  const auto input = [&](size_t i) -> const Values& { return known[node.inputs[i]]; };
  const Extents e = extents(node.shape), keys = extents(graph.nodes[node.inputs[1]].shape);
  const bool masked = node.inputs.size() > 3, shown = masked && graph.nodes[node.inputs[3]].dtype == DType::boolean;
  Values out(size_t(element_count(node.shape)));
  for (i64 b = 0; b < e.batch; ++b)
    for (i64 i = 0; i < e.rows; ++i) {
      Values scores(size_t(keys.rows), -INFINITY);
      double most = -INFINITY, total = 0;
      for (i64 j = 0; j < keys.rows; ++j) {
        const double mask = masked ? input(3)[size_t((b * e.rows + i) * keys.rows + j)] : 0;
        if ((node.attrs[1] && j > i + keys.rows - e.rows) || (shown && mask == 0)) continue;
        double score = 0;
        for (i64 d = 0; d < keys.cols; ++d)
          score += input(0)[size_t((b * e.rows + i) * keys.cols + d)] *
                   input(1)[size_t((b * keys.rows + j) * keys.cols + d)];
        scores[size_t(j)] = score * node.value + (shown ? 0 : mask);
        most = std::max(most, scores[size_t(j)]);
      }
      for (double& x : scores) total += x = most == -INFINITY ? 0 : std::exp(x - most);
      for (i64 c = 0; c < e.cols && total != 0; ++c)
        for (i64 j = 0; j < keys.rows; ++j)
          out[size_t((b * e.rows + i) * e.cols + c)] +=
              scores[size_t(j)] / total * input(2)[size_t((b * keys.rows + j) * e.cols + c)];
    }
  return out;
}

inline Values evaluate(const Graph& graph, u32 id, const std::vector<Values>& known,
                       const std::vector<Values>& externals) {
  const Node& node = graph.nodes[id];
  const size_t count = size_t(element_count(node.shape));
  auto input = [&](size_t i) -> const Values& { return known[node.inputs[i]]; };
  auto input_shape = [&](size_t i) -> const Shape& { return graph.nodes[node.inputs[i]].shape; };
  Values out(count);
  switch (info(node.op).family) {
    case Family::external:
      return externals[size_t(node.attrs[0])];
    case Family::constant:
      return Values(count, node.value);
    case Family::cast:
      for (size_t i = 0; i < count; ++i) {
        const double x = input(0)[i];
        out[i] = node.dtype == DType::bf16 ? float_from_bf16(bf16_from_float(float(x)))
                 : is_integer(node.dtype)  ? std::trunc(x)
                                           : x;
      }
      return out;
    case Family::unary:
      for (size_t i = 0; i < count; ++i) out[i] = unary(node.op, input(0)[i]);
      return out;
    case Family::binary:
      for (size_t i = 0; i < count; ++i) out[i] = binary(node.op, input(0)[i], input(1)[i]);
      return out;
    case Family::ternary:
      for (size_t i = 0; i < count; ++i) out[i] = ternary(node.op, input(0)[i], input(1)[i], input(2)[i]);
      return out;
    case Family::view:
      for (size_t i = 0; i < count; ++i) out[i] = input(0)[size_t(viewed(node, input_shape(0), i64(i)))];
      return out;
    case Family::reduce: {
      std::fill(out.begin(), out.end(), reduce_start(node.op));
      for (i64 i = 0; i < element_count(input_shape(0)); ++i) {
        Shape index = unravel(i, input_shape(0));
        index[size_t(node.attrs[0])] = 0;
        double& sum = out[size_t(ravel(index, node.shape))];
        sum = reduce(node.op, sum, input(0)[size_t(i)]);
      }
      return out;
    }
    case Family::contraction:
      return matmul(node, input_shape(0), input(0), input(1));
    case Family::whole:
      return attention(graph, node, known);
    case Family::iota:
      for (size_t i = 0; i < count; ++i) out[i] = double(i);
      return out;
    case Family::gather:
      for (size_t i = 0; i < count; ++i) {
        size_t cols = size_t(node.shape[1]);
        out[i] = input(0)[size_t(input(1)[i / cols]) * cols + i % cols];
      }
      return out;
    case Family::scatter: {
      Extents e = extents(node.shape), v = extents(input_shape(1));
      out = input(0);
      for (i64 b = 0; b < e.batch; ++b)
        for (i64 r = 0; r < v.rows; ++r)
          for (i64 c = 0; c < e.cols; ++c)
            out[size_t((b * e.rows + i64(input(2)[size_t(r)])) * e.cols + c)] =
                input(1)[size_t((b * v.rows + r) * e.cols + c)];
      return out;
    }
    case Family::join: {
      i64 at = 0;
      for (size_t n = 0; n < node.inputs.size(); ++n) {
        for (i64 i = 0; i < element_count(input_shape(n)); ++i) {
          Shape index = unravel(i, input_shape(n));
          index[size_t(node.attrs[0])] += at;
          out[size_t(ravel(index, node.shape))] = input(n)[size_t(i)];
        }
        at += input_shape(n)[size_t(node.attrs[0])];
      }
      return out;
    }
    case Family::custom:
      throw std::logic_error("the reference knows the library's operations only");
  }
  return out;
}

inline std::vector<Values> outputs(const Graph& graph, const std::vector<Values>& externals) {
  std::vector<Values> known;
  for (u32 id = 0; id < graph.nodes.size(); ++id) known.push_back(evaluate(graph, id, known, externals));
  std::vector<Values> out;
  for (u32 id : graph.outputs) out.push_back(known[id]);
  return out;
}

}  // namespace baretile::compiler::reference
