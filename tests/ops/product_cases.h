// Products of matrices in all their forms, and attention.
#pragma once
#include "baretile/nn.h"
#include "ops/cases.h"
#include "transform/add_times_kernel.h"

namespace baretile::ops_test {

namespace products {

// A function of a float operand and of others, whose shapes follow from its; exact, as multiples of 1/8 up to 2 have
// products of eight bits.
inline Entry entry(const std::string& name, u32 dtypes,
                   std::function<std::optional<std::vector<Shape>>(const Shape&)> others, Function call, Want want,
                   std::function<void(Case&)> more = {}) {
  return {name, dtypes, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            const std::optional<std::vector<Shape>> its = others(shape);
            if (!its) return std::nullopt;
            Case c{{{values(shape, dtype), dtype}}, call};
            for (const Shape& other : *its) c.inputs.push_back({values(other, dtype), dtype});
            c.want = want;
            c.differentiable = dtype == fp32;
            if (more) more(c);
            return c;
          }};
}

inline Entry matrices(const std::string& name, Precision precision, u32 dtypes = floats) {
  return entry(
      name, dtypes,
      [](const Shape& shape) -> std::optional<std::vector<Shape>> {
        if (shape.empty()) return std::nullopt;
        Shape right = shape.size() > 2 && shape.size() % 2 == 0 ? Shape(shape.begin(), shape.end() - 2) : Shape{};
        right.push_back(shape.back());
        if (shape.size() > 1) right.push_back(shape.size() % 2 == 0 ? 37 : 5);
        return std::vector<Shape>{right};
      },
      [precision](const Tensors& t) { return matmul(t[0], t[1], precision); },
      [](const Arrays& in) {
        const Array &x = in[0], &y = in[1];
        if (x.shape.size() > 1) return product(x, y, with(x.shape, -1, y.shape.back()));
        return Array{{}, {std::inner_product(x.values.begin(), x.values.end(), y.values.begin(), 0.0)}};
      },
      [precision](Case& c) {
        c.bound.absolute = precision == Precision::fast ? 4.0 * double(c.inputs[0].value.shape.back()) * 0x1p-6 : 0;
        c.differentiable = c.differentiable && precision == Precision::standard;
      });
}

// Keys and values have three rows more than the queries; `shared`: and one head, the mask one row for all.
inline Entry attention(const std::string& name, bool shared) {
  return entry(
      name, floats,
      [=](const Shape& shape) -> std::optional<std::vector<Shape>> {
        if (shape.size() < 2 || is_empty(shape)) return std::nullopt;
        Shape keys = with(shape, -2, extent(shape, -2) + 3);
        if (shared && shape.size() > 2) keys = with(keys, -3, 1);
        return std::vector<Shape>{keys, keys};
      },
      [=](const Tensors& t) {
        nn::AttentionOptions options;
        options.causal = t[0].rank() % 2 == 0;
        if (shared) options.mask = t[3], options.scale = 0.25;
        return nn::scaled_dot_product_attention(t[0], t[1], t[2], options);
      },
      [=](const Arrays& in) {
        const Array &q = in[0], &k = in[1], &v = in[2];
        const i64 span = extent(k.shape, -2), ahead = span - extent(q.shape, -2), d = q.shape.back();
        const double scale = shared ? 0.25 : 1 / std::sqrt(double(d));
        const Array scores = generate(with(q.shape, -1, span), [&](const Shape& i) -> double {
          const bool causal = q.shape.size() % 2 == 0;
          if ((causal && i.back() > i.end()[-2] + ahead) || (shared && in[3].at(i) == 0)) return -INFINITY;
          Shape of_query = i, of_key = i;
          of_key.end()[-2] = i.back();
          double sum = 0;
          for (i64 n = 0; n < d; ++n) of_query.back() = of_key.back() = n, sum += q.at(of_query) * k.at(of_key);
          return sum * scale;
        });
        return product(along(scores, -1, soft_maximum), v, q.shape);
      },
      [=](Case& c) {
        if (shared) {
          const i64 span = extent(c.inputs[1].value.shape, -2);
          c.inputs.push_back({generate({1, span}, [](const Shape& i) { return i[1] % 3 == 0; }), DType::boolean});
        }
        c.bound.absolute = 0x1p-6, c.bf16_absolute = 0x1p-6;
        c.tolerance = 1e-5;
      });
}

}  // namespace products

inline std::vector<Entry> product_entries() {
  using products::entry, products::matrices;
  using Others = std::optional<std::vector<Shape>>;
  std::vector<Entry> out{matrices("matmul", Precision::standard, anything), matrices("matmul, fast", Precision::fast),
                         matrices("matmul, full", Precision::full, fp32_only)};
  out.push_back(entry(
      "outer", floats, [](const Shape& shape) { return shape.size() == 1 ? Others({Shape{7}}) : std::nullopt; },
      [](const Tensors& t) { return outer(t[0], t[1]); },
      [](const Arrays& in) {
        return generate({in[0].shape[0], 7}, [&](const Shape& i) { return in[0].at({i[0]}) * in[1].at({i[1]}); });
      }));
  out.push_back(entry(
      "einsum", floats,
      [](const Shape& shape) {
        return shape.size() == 3 ? Others({Shape{4, shape[2], shape[0]}}) : std::nullopt;
      },
      [](const Tensors& t) {
        return einsum("bij,njb->bni", {t[0], t[1]});
      },
      [](const Arrays& in) {
        const Shape& x = in[0].shape;
        return generate({x[0], 4, x[1]}, [&](const Shape& i) {
          double sum = 0;
          for (i64 j = 0; j < x[2]; ++j) sum += in[0].at({i[0], i[2], j}) * in[1].at({i[1], j, i[0]});
          return sum;
        });
      }));
  out.push_back(entry(
      "rope", floats,
      [](const Shape& shape) -> Others {
        if (shape.size() < 2 || shape.back() % 2 != 0) return std::nullopt;
        const Shape angles{extent(shape, -2), shape.back()};
        return Others({angles, angles});
      },
      [](const Tensors& t) { return rope(t[0], t[1], t[2]); },
      [](const Arrays& in) {
        return generate(in[0].shape, [&](const Shape& i) {
          const i64 n = in[0].shape.back(), other = (i.back() + n / 2) % n;
          return in[0].at(i) * in[1].at(i) + in[0].at(with(i, -1, other)) * in[2].at(i);
        });
      }));
  out.push_back(products::attention("scaled_dot_product_attention", false));
  out.push_back(products::attention("scaled_dot_product_attention, shared", true));
  // A kernel of the user's, which the reference does not know; tests/transform/custom_kernel_test.cpp has its gradient.
  out.push_back({"custom_kernel", fp32_only, [](const Shape& shape, DType, Source& values) -> std::optional<Case> {
                   Case c{{{values(shape), fp32}, {values(shape), fp32}}, [](const Tensors& t) {
                            return add_times(2, fp32, true)({t[0], t[1]});
                          }};
                   c.on_device = true;
                   c.want = [](const Arrays& in) {
                     Array out = in[0];
                     for (size_t i = 0; i < out.values.size(); ++i) out.values[i] += 2 * in[1].values[i];
                     return out;
                   };
                   return c;
                 }});
  return out;
}

}  // namespace baretile::ops_test
