// Attention as one kernel, and as what it stands for.
#include "compiler/emit/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "baretile/error.h"
#include "baretile/nn.h"
#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile::nn {

namespace {

constexpr double kHidden = -1e30;  // a score whose weight is 0 beside any that is seen

// `inputs`: queries, keys, values and perhaps a mask.
Tensor composite(const std::vector<Tensor>& inputs, bool causal, double scale, Precision precision) {
  const Tensor &query = inputs[0], &key = inputs[1];
  Tensor scores = matmul(query, key.transpose(), precision) * scale, seen;
  if (causal) {
    const i64 rows = query.size(-2), span = key.size(-2);
    seen = tril(filled(scores.runtime(), {rows, span}, 1, DType::boolean), span - rows);
  }
  if (inputs.size() > 3) {
    const Tensor& mask = inputs[3];
    if (mask.dtype() != DType::boolean) {
      scores = scores + mask;
    } else {
      seen = seen ? logical_and(seen, mask) : mask;
    }
  }
  const Tensor weights = softmax(seen ? where(seen, scores, kHidden) : scores);
  return matmul(seen ? where(seen, weights, 0) : weights, inputs[2], precision);
}

// An empty tensor where no kernel does it.
Tensor in_one_kernel(std::vector<Tensor> inputs, bool causal, double scale, Precision precision) {
  const auto is_bad = [](const Tensor& x) { return !is_float(x.dtype()) || is_empty(x); };
  if (precision == Precision::full || std::any_of(inputs.begin(), inputs.begin() + 3, is_bad)) return {};
  const Shape& shape = inputs[0].shape();
  Shape scores = compiler::matmul_shapes(shape, inputs[1].transpose().shape()).out;
  const Shape rows_by_span(scores.end() - 2, scores.end());
  if (inputs.size() > 3) scores = compiler::broadcast_shape("attention", scores, inputs[3].shape());
  Shape out = compiler::matmul_shapes(scores, inputs[2].shape()).out;
  if (!std::equal(rows_by_span.begin(), rows_by_span.end(), scores.end() - 2) || scale <= 0 ||
      out.back() > i64{compiler::kWidestAttention} || (inputs.size() > 3 && is_integer(inputs[3].dtype())))
    return {};
  const DType dtype = std::max({inputs[0].dtype(), inputs[1].dtype(), inputs[2].dtype()});
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape full(out.begin(), out.end() - 2);
    const Shape last = i < 3 ? Shape(inputs[i].shape().end() - 2, inputs[i].shape().end()) : rows_by_span;
    full.insert(full.end(), last.begin(), last.end());
    inputs[i] = (i < 3 ? inputs[i].cast(dtype) : inputs[i]).expand(std::move(full));
  }
  const Tensor value = make(compiler::Op::attention, dtype, std::move(out), std::move(inputs),
                            {precision == Precision::fast ? 2 : 4, causal});
  value.expr()->node.value = scale;
  return value;
}

Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  const double scale = options.scale.value_or(1 / std::sqrt(double(query.size(-1))));
  const Precision precision = DefaultPrecision::now();
  std::vector<Tensor> inputs{query, key, value};
  if (options.mask) inputs.push_back(options.mask);
  const bool causal = options.causal;
  const Tensor fused = in_one_kernel(inputs, causal, scale, precision);
  if (!fused) return composite(inputs, causal, scale, precision);
  return custom_gradient(fused, inputs, [=](const Tensor& g) {
    const auto stop = [](const Tensor&) { return std::vector<Tensor>(); };
    std::vector<Tensor> leaves, wanted;
    for (const Tensor& x : inputs) {  // each on its own, even where one is made of another
      const bool flows = is_float(x.dtype());
      leaves.push_back(flows ? custom_gradient(x, std::span<const Tensor>(), stop) : x);
      if (flows) wanted.push_back(leaves.back());
    }
    std::vector<Tensor> out = grad(composite(leaves, causal, scale, precision).cast(g.dtype()), wanted, g);
    out.resize(inputs.size());
    return out;
  });
}

// Heads, on axis -3, as [groups, each]; one head for all stays that.
Tensor grouped(const Tensor& x, i64 groups, i64 each) {
  if (!x || x.rank() < 3) return x;
  Shape shape = x.shape();
  const bool one = shape.end()[-3] == 1;
  shape.end()[-3] = one ? 1 : each;
  shape.insert(shape.end() - 3, one ? 1 : groups);
  return x.reshape(std::move(shape));
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const auto heads = [](const Tensor& x) { return x.rank() < 3 ? 1 : x.size(-3); };
  const i64 groups = heads(key), all = heads(query);
  if (groups == 1 || all <= 1 || groups == all) return attend(query, key, value, options);
  if (all % groups != 0 || heads(value) != groups)
    throw UsageError(fmt::format(
        "scaled_dot_product_attention: {} heads of queries, {} of keys, {} of values; give keys and values as many, a "
        "number that divides that of the queries.",
        all, groups, heads(value)));
  AttentionOptions each = options;
  each.mask = grouped(options.mask, groups, all / groups);
  const Tensor out =
      attend(grouped(query, groups, all / groups), grouped(key, groups, 1), grouped(value, groups, 1), each);
  Shape shape = out.shape();
  shape.erase(shape.end() - 3);
  shape.end()[-3] = all;
  return out.reshape(std::move(shape));
}

}  // namespace baretile::nn
