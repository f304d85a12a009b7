// Gradients against finite differences: the graphs of a function and of its gradients, both evaluated in double by the
// book (compiler/reference.h); no device.
#pragma once
#include <gtest/gtest.h>

#include <functional>

#include "baretile/autograd.h"
#include "compiler/reference.h"
#include "tensor/array.h"
#include "tensor/expr.h"

namespace baretile::tensor_test {

struct Input {
  Array value;
  DType dtype = DType::fp32;
};
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

// The values of `wanted`, whose placeholders or uploads `tensors` hold `inputs`.
inline std::vector<Array> by_the_book(const Tensors& wanted, const Tensors& tensors, const std::vector<Array>& inputs) {
  Tensors computed;  // those without elements are not
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(computed), [](const Tensor& x) { return !is_empty(x); });
  const Capture captured = capture(computed);
  std::vector<std::vector<double>> externals;
  for (const auto& expr : captured.externals)
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].expr() == expr) externals.push_back(inputs[i].values);
  EXPECT_EQ(externals.size(), captured.externals.size());
  const auto values = compiler::reference::outputs(captured.graph, externals);
  std::vector<Array> out;
  for (const Tensor& tensor : wanted) {
    const auto place = std::find(captured.outputs.begin(), captured.outputs.end(), tensor.expr());
    out.push_back({tensor.shape(), {}});
    if (!is_empty(tensor)) out.back().values = values[size_t(place - captured.outputs.begin())];
  }
  return out;
}

// Values at which no function of ops.def has a step or a corner: never a multiple of 1/16 nor near one, and another set
// for each seed.
inline Array off_grid(const Shape& shape, u32 seed) {
  std::mt19937 generator(seed);
  return generate(shape, [&](const Shape&) { return (int(generator() % 32) - 16) / 8.0 + 0.02 + 0.004 * (seed % 8); });
}

// Compares grad() with the differences of sum(f * weights) for some elements of every float input.
inline void check_derivatives(const std::string& name, const std::vector<Input>& inputs, const Function& f,
                              double tolerance = 1e-6) {
  SCOPED_TRACE(name);
  Tensors tensors, wanted;
  std::vector<Array> values;
  std::vector<size_t> floats;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back(Tensor::placeholder(inputs[i].value.shape, inputs[i].dtype));
    values.push_back(inputs[i].value);
    if (is_float(inputs[i].dtype)) floats.push_back(i);
  }
  const Tensor result = f(tensors), seed = Tensor::placeholder(result.shape(), result.dtype());
  Tensors with_seed = tensors;
  with_seed.push_back(seed);
  std::vector<Array> all = values;
  all.push_back(off_grid(result.shape(), 77));
  for (size_t i : floats) wanted.push_back(tensors[i]);
  const Tensors gradients = grad(result, wanted, seed);
  const std::vector<Array> got = by_the_book(gradients, with_seed, all);

  const auto weighted = [&] {
    double sum = 0;
    const Array y = by_the_book({result}, tensors, values)[0];
    for (size_t n = 0; n < y.values.size(); ++n) sum += y.values[n] * all.back().values[n];
    return sum;
  };
  std::mt19937 generator(5);
  for (size_t w = 0; w < floats.size(); ++w) {
    std::vector<double>& x = values[floats[w]].values;
    ASSERT_EQ(gradients[w].shape(), values[floats[w]].shape);
    ASSERT_EQ(gradients[w].dtype(), inputs[floats[w]].dtype);
    for (size_t tries = 0; tries < std::min<size_t>(x.size(), 10); ++tries) {
      const size_t n = x.size() <= 10 ? tries : generator() % x.size();
      const double step = 1e-4, before = x[n];
      const auto difference = [&](double by) {
        x[n] = before + by;
        const double above = weighted();
        x[n] = before - by;
        return above - weighted();
      };
      const double want = (8 * difference(step) - difference(2 * step)) / (12 * step);
      x[n] = before;
      EXPECT_NEAR(got[w].values[n], want, tolerance * std::max(1.0, std::fabs(want)))
          << "input " << floats[w] << ", element " << n;
    }
  }
}

}  // namespace baretile::tensor_test
