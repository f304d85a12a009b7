// Along an axis: each reduction of ops.def over one axis, several and all; composites.
#pragma once
#include "ops/cases.h"

namespace baretile::ops_test {

namespace axis {

using OverAxis = Tensor (*)(const Tensor&, i64);
using Formula = std::function<Array(const Array&, i64)>;

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
  bool last = false;       // the last axis only
  size_t rank = 1;         // and above
};

inline Entry entry(const std::string& name, OverAxis call, Formula want, Options o) {
  return {name, o.dtypes, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            if (shape.size() < o.rank) return std::nullopt;
            const i64 at = o.last ? i64(shape.size()) - 1 : *chosen(shape, name.size());
            if (!o.any_extent && extent(shape, at) == 0) return std::nullopt;
            Case c{{{values(shape, dtype, true), dtype}}, [=](const Tensors& t) { return call(t[0], at); }};
            c.want = [=](const Arrays& in) { return want(in[0], at); };
            c.bound.absolute = o.absolute, c.bf16_absolute = o.absolute == 0 ? 0 : 0x1p-6;
            c.differentiable = o.differentiable && dtype == fp32;
            return c;
          }};
}
// Formulas that make another line, or a number, of each.
inline Formula lines(Line (*f)(const Line&)) {
  return [f](const Array& x, i64 axis) { return along(x, axis, f); };
}
inline Formula numbers_of(double (*f)(const Line&), bool keepdims = false) {
  return [=](const Array& x, i64 axis) { return reduced(x, axis, keepdims, f); };
}
inline Formula triangle(bool (*kept)(i64 row, i64 col)) {
  return [kept](const Array& x, i64) {
    return generate(x.shape, [&](const Shape& i) { return kept(i.end()[-2], i.back()) ? x.at(i) : 0; });
  };
}

// Which axes a row goes over by rank: 1 and 5 the first, which stays, 2 the second, 3 the outer two, else all.
inline std::vector<i64> axes_of(size_t rank) {
  if (rank % 4 != 0)
    return rank % 4 == 1 ? std::vector<i64>{0} : rank % 4 == 2 ? std::vector<i64>{1} : std::vector<i64>{0, 2};
  std::vector<i64> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A row, by its reference. A product stays in range when its factors are small; of integers it wraps around.
inline Entry row(const std::string& name, double identity, double (*next)(double, double),
                 Tensor (*call)(const Tensor&)) {
  return {name, anything, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            const bool extreme = std::isinf(identity), factor = identity == 1, real = is_float(dtype);
            if (extreme && is_empty(shape)) return std::nullopt;
            Array x = values(shape, dtype, true);
            if (factor && dtype != DType::boolean)
              x = map(x, [&](double v) { return real ? (dtype == bf16 ? std::floor(v) : v) / 64 + 1 : v > 0 ? 2 : 1; });
            Case c{{{std::move(x), dtype}}, [call](const Tensors& t) { return call(t[0]); }};
            c.want = [=](const Arrays& in) {
              Array out = in[0];
              const std::vector<i64> axes = axes_of(in[0].shape.size());
              for (size_t n = axes.size(); n-- > 0;)
                out = reduced(out, axes[n], in[0].shape.size() % 2 == 1, [&](const Line& line) {
                  double sum = identity;
                  for (const double v : line) sum = factor && !real ? i32(u32(i64(sum)) * u32(i64(v))) : next(sum, v);
                  return sum;
                });
              return out;
            };
            c.bound = {0, extreme ? 0 : factor ? 0x1p-16 : 0x1p-18}, c.bf16_absolute = extreme ? 0 : 0x1p-7;
            c.differentiable = dtype == fp32;
            return c;
          }};
}

}  // namespace axis

inline std::vector<Entry> axis_entries() {
  using axis::entry, axis::lines, axis::numbers_of, axis::triangle;
  std::vector<Entry> out;
#define REDUCE(name, doc, kind, identity, fold, reference, ulp)                \
  out.push_back(axis::row(                                                     \
      #name, identity, [](double x, double y) -> double { return reference; }, \
      [](const Tensor& x) {                                                    \
        return x.rank() % 4 == 1   ? name(x, 0, true)                          \
               : x.rank() % 4 == 2 ? name(x, 1)                                \
               : x.rank() % 4 == 3 ? name(x, std::vector<i64>{0, 2}, true)     \
                                   : name(x);                                  \
      }));
#include "baretile/ops.def"
  const axis::Options flat{.dtypes = anything, .absolute = 0, .differentiable = false};
  out.push_back(entry(
      "any", [](const Tensor& x, i64 n) { return any(x, n); }, numbers_of([](const Line& l) -> double {
        return std::any_of(l.begin(), l.end(), [](double v) { return v != 0; });
      }),
      flat));
  out.push_back(entry(
      "all", [](const Tensor& x, i64 n) { return all(x, n, true); },
      numbers_of(
          [](const Line& l) -> double { return std::all_of(l.begin(), l.end(), [](double v) { return v != 0; }); },
          true),
      flat));
  const axis::Options choice{.dtypes = numbers, .absolute = 0, .differentiable = false, .any_extent = false};
  out.push_back(entry(
      "argmax", [](const Tensor& x, i64 n) { return argmax(x, n); },
      numbers_of([](const Line& l) { return double(std::max_element(l.begin(), l.end()) - l.begin()); }), choice));
  out.push_back(entry(
      "argmin", [](const Tensor& x, i64 n) { return argmin(x, n, true); },
      numbers_of([](const Line& l) { return double(std::min_element(l.begin(), l.end()) - l.begin()); }, true),
      choice));
  const axis::Options some{.any_extent = false};
  out.push_back(entry(
      "mean", [](const Tensor& x, i64 n) { return mean(x, n); }, numbers_of(mean_of), some));
  out.push_back(entry(
      "var", [](const Tensor& x, i64 n) { return var(x, n, true); }, numbers_of(variance, true), some));
  out.push_back(entry(
      "logsumexp", [](const Tensor& x, i64 n) { return logsumexp(x, n); }, numbers_of(log_sum_exp), some));
  out.push_back(entry("softmax", [](const Tensor& x, i64 n) { return softmax(x, n); }, lines(soft_maximum), {}));
  out.push_back(entry("cumsum", [](const Tensor& x, i64 n) { return cumsum(x, n); }, lines([](const Line& l) {
                        Line sums(l.size());
                        std::partial_sum(l.begin(), l.end(), sums.begin());
                        return sums;
                      }),
                      {.dtypes = fp32_only | 4}));
  const axis::Options order{.dtypes = signed_numbers, .absolute = 0, .differentiable = false, .last = true};
  out.push_back(entry(
      "argsort", [](const Tensor& x, i64) { return argsort(x, x.rank() % 2); },
      [](const Array& x, i64 n) { return along(x, n, [&](const Line& l) { return order_of(l, x.shape.size() % 2); }); },
      order));
  const auto largest = [](const Line& l) {
    Line places = order_of(l, true);
    places.resize(std::min<size_t>(places.size(), 3));
    return places;
  };
  out.push_back(entry(
      "topk", [](const Tensor& x, i64) { return topk(x, std::min<i64>(3, x.size(-1))).values; },
      [=](const Array& x, i64 n) { return along(x, n, [&](const Line& l) { return chosen_of(l, largest(l)); }); },
      {.dtypes = signed_numbers, .absolute = 0, .last = true}));
  out.push_back(entry(
      "topk, indices", [](const Tensor& x, i64) { return topk(x, std::min<i64>(3, x.size(-1))).indices; },
      lines(largest), order));
  const axis::Options plane{.dtypes = anything, .absolute = 0, .rank = 2};
  out.push_back(entry(
      "tril", [](const Tensor& x, i64) { return tril(x, 1); },
      triangle([](i64 row, i64 col) { return col <= row + 1; }), plane));
  out.push_back(entry(
      "triu", [](const Tensor& x, i64) { return triu(x, -2); },
      triangle([](i64 row, i64 col) { return col >= row - 2; }), plane));
  return out;
}

}  // namespace baretile::ops_test
