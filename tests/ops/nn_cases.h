// Layers, losses and what gradients go through, from nn.h; rms_norm of tensor.h, which is one too.
#pragma once
#include "baretile/nn.h"
#include "ops/cases.h"

namespace baretile::ops_test {

namespace networks {

// What is compared beside the format's rounding: sums in fp32, and what is stored in bf16 in between.
inline Case bounded(Case c, Want want) {
  c.want = std::move(want);
  c.bound.absolute = 0x1p-18, c.bf16_absolute = 0x1p-6;
  c.differentiable = c.inputs[0].dtype == fp32;
  return c;
}

// f of x and operands that have the last axis's extent, for shapes with elements along it.
inline Entry over_last(const std::string& name, size_t others, Function call, Want want) {
  return {name, floats, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            if (shape.empty() || shape.back() == 0) return std::nullopt;
            Case c{{{values(shape, dtype), dtype}}, call};
            for (size_t n = 0; n < others; ++n) c.inputs.push_back({values({shape.back()}, dtype), dtype});
            return bounded(std::move(c), want);
          }};
}
// f of x alone, for shapes with elements.
inline Entry of_one(const std::string& name, Function call, Want want) {
  return {name, floats, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            if (is_empty(shape)) return std::nullopt;
            return bounded({{{values(shape, dtype), dtype}}, call}, want);
          }};
}

inline Array scaled(const Array& x, const Array& weight) {
  return generate(x.shape, [&](const Shape& i) { return x.at(i) * weight.at(i); });
}
inline double length(const Array& x) {
  return std::sqrt(std::inner_product(x.values.begin(), x.values.end(), x.values.begin(), 0.0));
}

}  // namespace networks

inline std::vector<Entry> nn_entries() {
  using networks::over_last, networks::of_one, networks::bounded;
  using Made = std::optional<Case>;
  std::vector<Entry> out;
  out.push_back(over_last(
      "rms_norm", 1, [](const Tensors& t) { return rms_norm(t[0], t[1]); },
      [](const Arrays& in) {
        const auto normed = [](const Line& l) {
          const double size = std::sqrt(mean_of(each(l, [](double v) { return v * v; })) + 1e-5f);
          return each(l, [&](double v) { return v / size; });
        };
        return networks::scaled(along(in[0], -1, normed), in[1]);
      }));
  out.push_back(over_last(
      "layer_norm", 2, [](const Tensors& t) { return nn::layer_norm(t[0], t[1], t[2]); },
      [](const Arrays& in) {
        const auto normed = [](const Line& l) {
          return each(l, [m = mean_of(l), v = variance(l)](double x) { return (x - m) / std::sqrt(v + 1e-5f); });
        };
        const Array x = networks::scaled(along(in[0], -1, normed), in[1]);
        return generate(x.shape, [&](const Shape& i) { return x.at(i) + in[2].at(i); });
      }));
  out.push_back(
      {"linear", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
         if (shape.empty()) return std::nullopt;
         Case c{{{values(shape, dtype), dtype}, {values({5, shape.back()}, dtype), dtype}, {values({5}, dtype), dtype}},
                [](const Tensors& t) { return nn::linear(t[0], t[1], t[2]); }};
         return bounded(std::move(c), [](const Arrays& in) {
           return generate(with(in[0].shape, -1, 5), [&](const Shape& i) {
             double sum = in[2].at(i);
             for (i64 n = 0; n < in[0].shape.back(); ++n) sum += in[0].at(with(i, -1, n)) * in[1].at({i.back(), n});
             return sum;
           });
         });
       }});
  out.push_back({"embedding", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (shape.size() != 2 || shape[0] == 0) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}, {values.index({2, 3}, shape[0]), DType::int32}},
                          [](const Tensors& t) { return nn::embedding(t[0], t[1]); }};
                   c.want = [](const Arrays& in) {
                     return generate({2, 3, in[0].shape[1]}, [&](const Shape& i) {
                       return in[0].at({i64(in[1].at({i[0], i[1]})), i[2]});
                     });
                   };
                   c.differentiable = dtype == fp32, c.indexed = true;
                   return c;
                 }});
  out.push_back(over_last(
      "log_softmax", 0, [](const Tensors& t) { return nn::log_softmax(t[0]); },
      [](const Arrays& in) {
        return along(in[0], -1,
                     [](const Line& l) { return each(l, [sum = log_sum_exp(l)](double v) { return v - sum; }); });
      }));
  out.push_back({"cross_entropy", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (shape.size() != 2 || is_empty(shape)) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}, {values.index({shape[0]}, shape[1]), DType::int32}},
                          [](const Tensors& t) { return nn::cross_entropy(t[0], t[1]); }};
                   c.indexed = true;
                   return bounded(std::move(c), [](const Arrays& in) {
                     const Array sums = reduced(in[0], 1, false, log_sum_exp);
                     double loss = 0;
                     for (i64 n = 0; n < in[0].shape[0]; ++n) loss += sums.at({n}) - in[0].at({n, i64(in[1].at({n}))});
                     return Array{{}, {loss / double(in[0].shape[0])}};
                   });
                 }});
  out.push_back({"mse", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (is_empty(shape)) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}, {values(shape, dtype), dtype}},
                          [](const Tensors& t) { return nn::mse(t[0], t[1]); }};
                   return bounded(std::move(c), [](const Arrays& in) {
                     double sum = 0;
                     for (size_t n = 0; n < in[0].values.size(); ++n)
                       sum += std::pow(in[0].values[n] - in[1].values[n], 2);
                     return Array{{}, {sum / double(in[0].values.size())}};
                   });
                 }});
  out.push_back(of_one(
      "gradients",
      [](const Tensors& t) {
        Tensor x = t[0];
        return nn::gradients(sum(x * x), {&x})[0];
      },
      [](const Arrays& in) { return map(in[0], [](double v) { return 2 * v; }); }));
  out.push_back(of_one(
      "clip_grad_norm",
      [](const Tensors& t) {
        std::vector<Tensor> gradients{t[0], t[0] * 0.5};
        return nn::clip_grad_norm(gradients, 1);
      },
      [](const Arrays& in) {
        return Array{{}, {networks::length(in[0]) * std::sqrt(1.25)}};
      }));
  out.push_back(of_one(
      "clip_grad_norm, what it leaves",
      [](const Tensors& t) {
        std::vector<Tensor> gradients{t[0]};
        nn::clip_grad_norm(gradients, 3);
        return gradients[0];
      },
      [](const Arrays& in) {
        const double all = networks::length(in[0]);
        return map(in[0], [&](double v) { return v * std::min(1.0, 3 / (all + 1e-6)); });
      }));
  return out;
}

}  // namespace baretile::ops_test
