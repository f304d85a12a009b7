// Along an axis: each reduction of ops.def over one axis, several and all; composites.
#pragma once
#include "baretile/nn.h"
#include "ops/cases.h"

namespace baretile::ops_test {

namespace axis {

using OverAxis = Tensor (*)(const Tensor&, i64);

// Whichever axis of a shape differs from case to case; none of a number.
inline std::optional<i64> chosen(const Shape& shape, size_t style) {
  if (shape.empty()) return std::nullopt;
  return i64((style + shape.size()) % shape.size());
}

struct Options {
  u32 dtypes = floats;
  double absolute = 0x1p-18;  // relative to the largest result
  bool differentiable = true;
  bool any_extent = true;  // also of no elements
  double scale = 1;        // of the operand
  bool last = false;       // the last axis only
};

inline Entry entry(const std::string& name, OverAxis call, Options o) {
  return {name, o.dtypes, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            std::optional<i64> at = o.last && !shape.empty() ? i64(shape.size()) - 1 : chosen(shape, name.size());
            if (!at || (!o.any_extent && extent(shape, *at) == 0)) return std::nullopt;
            Case c;
            Array x = values(shape, dtype, true);
            if (is_float(dtype)) x = map(x, [&](double v) { return v * o.scale; });
            c.inputs = {{std::move(x), dtype}};
            c.call = [call, at = *at](const Tensors& t) { return call(t[0], at); };
            c.bound.absolute = o.absolute, c.bf16_absolute = 0x1p-6;
            c.differentiable = o.differentiable && dtype == fp32;
            return c;
          }};
}

}  // namespace axis

inline std::vector<Entry> axis_entries() {
  std::vector<Entry> out;
  // A product stays below 2^24 when its factors are small: of integers these wrap, and are compared so.
#define REDUCE(name, doc, kind, identity, fold, reference, ulp)                                                     \
  out.push_back({#name, anything, [](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {      \
                   const bool extreme = std::isinf(double(identity)), factor = double(identity) == 1;               \
                   if (extreme && is_empty(shape)) return std::nullopt;                                             \
                   Case c;                                                                                          \
                   Array x = values(shape, dtype, true);                                                            \
                   if (factor) x = map(x, [](double v) { return v / 64 + 1; });                                     \
                   if (factor && !is_float(dtype)) x = map(x, [](double v) { return std::ceil(v - 1) + 1; });       \
                   c.inputs = {{std::move(x), dtype}};                                                              \
                   const size_t rank = shape.size();                                                                \
                   c.call = [rank](const Tensors& t) {                                                              \
                     return rank % 4 == 2   ? name(t[0], 1)                                                         \
                            : rank % 4 == 1 ? name(t[0], 0, true)                                                   \
                            : rank % 4 == 3 ? name(t[0], std::vector<i64>{0, 2}, true)                              \
                                            : name(t[0]);                                                           \
                   };                                                                                               \
                   c.bound = {0, extreme ? 0 : factor ? 0x1p-16 : 0x1p-18}, c.bf16_absolute = extreme ? 0 : 0x1p-7; \
                   c.differentiable = dtype == fp32;                                                                \
                   return c;                                                                                        \
                 }});
#include "baretile/ops.def"
  using axis::entry;
  const auto flat = [](u32 dtypes) { return axis::Options{.dtypes = dtypes, .absolute = 0, .differentiable = false}; };
  out.push_back(entry(
      "any", [](const Tensor& x, i64 n) { return any(x, n); }, flat(anything)));
  out.push_back(entry(
      "all", [](const Tensor& x, i64 n) { return all(x, n, true); }, flat(anything)));
  axis::Options choice = flat(numbers);
  choice.any_extent = false;
  out.push_back(entry(
      "argmax", [](const Tensor& x, i64 n) { return argmax(x, n); }, choice));
  out.push_back(entry(
      "argmin", [](const Tensor& x, i64 n) { return argmin(x, n, true); }, choice));
  out.push_back(entry("mean", [](const Tensor& x, i64 n) { return mean(x, n); }, {.any_extent = false}));
  out.push_back(entry("var", [](const Tensor& x, i64 n) { return var(x, n, true); }, {.any_extent = false}));
  out.push_back(entry("logsumexp", [](const Tensor& x, i64 n) { return logsumexp(x, n); }, {.any_extent = false}));
  out.push_back(entry("softmax", [](const Tensor& x, i64 n) { return softmax(x, n); }, {}));
  out.push_back(entry("cumsum", [](const Tensor& x, i64 n) { return cumsum(x, n); }, {.dtypes = fp32_only | 4}));
  axis::Options order = flat(signed_numbers);
  order.last = true;
  out.push_back(entry(
      "argsort", [](const Tensor& x, i64) { return argsort(x, x.rank() % 2); }, order));
  out.push_back(entry("topk", [](const Tensor& x, i64) { return topk(x, std::min<i64>(3, x.size(-1))).values; },
                      {.dtypes = signed_numbers, .absolute = 0, .last = true}));
  out.push_back(entry("rms_norm", [](const Tensor& x, i64) { return rms_norm(x, Tensor(1)); },
                      {.any_extent = false, .last = true}));
  out.push_back(entry("tril", [](const Tensor& x, i64) { return x.rank() < 2 ? x : tril(x, 1); },
                      {.dtypes = anything, .absolute = 0}));
  out.push_back(entry("triu", [](const Tensor& x, i64) { return x.rank() < 2 ? x : triu(x, -2); },
                      {.dtypes = anything, .absolute = 0}));
  return out;
}

}  // namespace baretile::ops_test
