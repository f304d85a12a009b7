// What formulas of composites are made of: lines along an axis, and elements by index; apart from any graph.
#pragma once
#include <cmath>
#include <functional>
#include <numeric>

#include "compiler/graph/shape.h"
#include "tensor/array.h"

namespace baretile::ops_test {

using tensor_test::Array, tensor_test::generate, tensor_test::map, tensor_test::with;
using Arrays = std::vector<Array>;
using Want = std::function<Array(const Arrays&)>;  // the result, in double
using Line = std::vector<double>;                  // the elements along an axis

inline size_t place(const Shape& shape, i64 axis) { return size_t(axis < 0 ? axis + i64(shape.size()) : axis); }
inline i64 extent(const Shape& shape, i64 axis) { return shape[place(shape, axis)]; }
inline bool is_empty(const Shape& shape) { return compiler::element_count(shape) == 0; }

// Each line along an axis becomes another one, all of one extent.
template <class F>
Array along(const Array& x, i64 axis, F f) {
  const i64 at = i64(place(x.shape, axis));
  const size_t before = size_t(compiler::element_count(Shape(x.shape.begin(), x.shape.begin() + at))),
               after = size_t(compiler::element_count(Shape(x.shape.begin() + at + 1, x.shape.end())));
  Line line(size_t(extent(x.shape, axis)));
  const size_t count = line.size(), its = f(line).size();
  Array out{with(x.shape, axis, i64(its)), Line(before * its * after)};
  for (size_t b = 0; b < before; ++b)
    for (size_t a = 0; a < after; ++a) {
      for (size_t n = 0; n < count; ++n) line[n] = x.values[(b * count + n) * after + a];
      const Line made = f(line);
      for (size_t n = 0; n < its; ++n) out.values[(b * its + n) * after + a] = made[n];
    }
  return out;
}

// Each line becomes a number; the axis stays with extent 1 or goes.
template <class F>
Array reduced(const Array& x, i64 axis, bool keepdims, F f) {
  Array out = along(x, axis, [&](const Line& line) { return Line{double(f(line))}; });
  if (!keepdims) out.shape.erase(out.shape.begin() + i64(place(x.shape, axis)));
  return out;
}

inline Line each(Line line, const std::function<double(double)>& f) {
  for (double& v : line) v = f(v);
  return line;
}
inline double total(const Line& line) { return std::accumulate(line.begin(), line.end(), 0.0); }
inline double mean_of(const Line& line) { return total(line) / double(line.size()); }
inline double variance(const Line& line) {
  return mean_of(each(line, [m = mean_of(line)](double v) { return (v - m) * (v - m); }));
}
inline double log_sum_exp(const Line& line) {
  return std::log(total(each(line, [](double v) { return std::exp(v); })));
}
// Of a line without anything finite, zeros.
inline Line soft_maximum(const Line& line) {
  const Line powers = each(line, [](double v) { return std::exp(v); });
  return each(powers, [sum = total(powers)](double v) { return sum == 0 ? 0 : v / sum; });
}
// Places of a line's elements in their order; equal ones keep theirs.
inline Line order_of(const Line& line, bool descending) {
  Line out(line.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](double a, double b) {
    const double x = line[size_t(a)], y = line[size_t(b)];
    return descending ? x > y : x < y;
  });
  return out;
}
inline Line chosen_of(const Line& line, const Line& places) {
  return each(places, [&](double n) { return line[size_t(n)]; });
}
inline Line joined(Line line, const Line& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}
inline Line reversed(const Line& line) { return {line.rbegin(), line.rend()}; }

// What bfp8 (a step 2^-6 of the power of two in the largest of 16 neighbours) and bfp4 (2^-2) keep, as tensor.h says.
inline Array in_blocks(const Array& x, int bits) {
  return along(x, -1, [&](Line line) {
    for (size_t from = 0; from < line.size(); from += 16) {
      const size_t end = std::min(from + 16, line.size());
      double most = 0;
      for (size_t n = from; n < end; ++n) most = std::max(most, std::fabs(line[n]));
      if (most == 0) continue;
      const int power = std::ilogb(most) + (bits == 2 && most / std::exp2(std::ilogb(most)) >= 1.875);
      const double step = std::exp2(power - bits), limit = std::exp2(bits + 1) - 1;
      for (size_t n = from; n < end; ++n) line[n] = step * std::clamp(std::round(line[n] / step), -limit, limit);
    }
    return line;
  });
}

}  // namespace baretile::ops_test
