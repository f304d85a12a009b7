// Products of matrices in all their forms.
#pragma once
#include "baretile/nn.h"
#include "ops/cases.h"
#include "transform/add_times_kernel.h"

namespace baretile::ops_test {

namespace products {

// Both operands of matmul, from the shape of the left one.
inline std::optional<Case> product(const Shape& shape, DType dtype, Source& values, Precision precision) {
  if (shape.empty()) return std::nullopt;
  Shape right = shape.size() > 2 && shape.size() % 2 == 0 ? Shape(shape.begin(), shape.end() - 2) : Shape{};
  right.push_back(shape.back());
  if (shape.size() > 1) right.push_back(shape.size() % 2 == 0 ? 37 : 5);
  Case c{{{values(shape, dtype), dtype}, {values(right, dtype), dtype}},
         [precision](const Tensors& t) { return matmul(t[0], t[1], precision); }};
  // Multiples of 1/8 up to 2 have products of eight bits.
  c.bound.absolute = precision == Precision::fast ? 4.0 * double(shape.back()) * 0x1p-6 : 0;
  c.differentiable = precision == Precision::standard && dtype == fp32;
  return c;
}

inline Entry entry(const std::string& name, Precision precision, u32 dtypes = floats) {
  return {name, dtypes,
          [=](const Shape& shape, DType dtype, Source& values) { return product(shape, dtype, values, precision); }};
}

}  // namespace products

inline std::vector<Entry> product_entries() {
  using Made = std::optional<Case>;
  std::vector<Entry> out{products::entry("matmul", Precision::standard),
                         products::entry("matmul, fast", Precision::fast),
                         products::entry("matmul, full", Precision::full, fp32_only)};
  out.push_back({"outer", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (shape.size() != 1) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}, {values({7}, dtype), dtype}},
                          [](const Tensors& t) { return outer(t[0], t[1]); }};
                   c.differentiable = dtype == fp32;
                   return c;
                 }});
  out.push_back({"einsum", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (shape.size() != 3) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}, {values({4, shape[2], shape[0]}, dtype), dtype}},
                          [](const Tensors& t) {
                            return einsum("bij,njb->bni", {t[0], t[1]});
                          }};
                   c.differentiable = dtype == fp32;
                   return c;
                 }});
  out.push_back({"rope", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (shape.size() < 2 || shape.back() % 2 != 0) return std::nullopt;
                   const Shape angles = with(Shape{extent(shape, -2), 0}, -1, shape.back());
                   Case c{
                       {{values(shape, dtype), dtype}, {values(angles, dtype), dtype}, {values(angles, dtype), dtype}},
                       [](const Tensors& t) { return rope(t[0], t[1], t[2]); }};
                   c.differentiable = dtype == fp32;
                   return c;
                 }});
  out.push_back({"attention", floats, [](const Shape& shape, DType dtype, Source& values) -> Made {
                   if (shape.size() < 2 || is_empty(shape)) return std::nullopt;
                   const Shape keys = with(shape, -2, extent(shape, -2) + 3);
                   Case c{{{values(shape, dtype), dtype}, {values(keys, dtype), dtype}, {values(keys, dtype), dtype}},
                          [causal = shape.size() % 2 == 0](const Tensors& t) {
                            nn::AttentionOptions options;
                            options.causal = causal;
                            return nn::scaled_dot_product_attention(t[0], t[1], t[2], options);
                          }};
                   c.bound.absolute = 0x1p-6, c.bf16_absolute = 0x1p-6;
                   c.differentiable = dtype == fp32;
                   c.tolerance = 1e-5;
                   return c;
                 }});
  // A kernel of the user's, which the reference does not know; tests/transform/custom_kernel_test.cpp has its gradient.
  out.push_back({"custom_kernel", fp32_only, [](const Shape& shape, DType, Source& values) -> Made {
                   Case c{{{values(shape), fp32}, {values(shape), fp32}}, [](const Tensors& t) {
                            return add_times(2, fp32, true)({t[0], t[1]});
                          }};
                   c.want = [](const std::vector<Array>& in) {
                     Array out = in[0];
                     for (size_t i = 0; i < out.values.size(); ++i) out.values[i] += 2 * in[1].values[i];
                     return out;
                   };
                   return c;
                 }});
  return out;
}

}  // namespace baretile::ops_test
