#include <cmath>

#include "baretile/nn.h"

namespace baretile::nn {

namespace {

Tensor uniform(Runtime& runtime, Shape shape, double bound, std::mt19937& random, DType dtype) {
  i64 count = 1;
  for (i64 extent : shape) count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  std::uniform_real_distribution<float> distribution(float(-bound), float(bound));
  for (float& value : values) value = distribution(random);
  return Tensor::from_host(runtime, values, std::move(shape), dtype);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Shape shape = x.shape();
  i64 rows = 1;  // counted, as -1 is no number of rows of no elements
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis];
  // As one matrix: the weights' gradient is one product then, not a sum of many.
  Tensor out = matmul(x.reshape({rows, x.size(-1)}), weight.transpose());
  if (bias) out = out + bias;
  shape.back() = weight.size(0);
  return out.reshape(std::move(shape));
}

Tensor embedding(const Tensor& table, const Tensor& index) {
  Shape shape = index.shape();
  shape.push_back(table.size(-1));
  return gather_rows(table, index.reshape({-1})).reshape(std::move(shape));
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  const Tensor centred = x - mean(x, -1, true);
  return centred * rsqrt(mean(centred * centred, -1, true) + epsilon) * weight + bias;
}

Tensor causal_mask(Runtime& runtime, i64 rows, i64 span) {
  return tril(Tensor::ones(runtime, {rows, span}, DType::boolean), span - rows);
}

Linear Linear::init(Runtime& runtime, i64 in, i64 out, std::mt19937& random, DType dtype) {
  const double bound = 1 / std::sqrt(double(in));
  Tensor weight = uniform(runtime, {out, in}, bound, random, dtype);
  return {weight, uniform(runtime, {out}, bound, random, dtype)};
}

MLP MLP::init(Runtime& runtime, std::span<const i64> widths, std::mt19937& random, DType dtype) {
  MLP out;
  for (size_t i = 1; i < widths.size(); ++i)
    out.layers.push_back(Linear::init(runtime, widths[i - 1], widths[i], random, dtype));
  return out;
}

Tensor MLP::operator()(const Tensor& x) const {
  Tensor h = x;
  for (size_t i = 0; i < layers.size(); ++i) h = layers[i](i == 0 ? h : activation(h));
  return h;
}

Parameters MLP::parameters() {
  Parameters all;
  for (Linear& layer : layers) all.insert(all.end(), {&layer.weight, &layer.bias});
  return all;
}

}  // namespace baretile::nn
