// Values and shapes for expectations: plain index arithmetic in double, apart from anything the compiler uses.
#pragma once
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "baretile/tensor.h"

namespace baretile::tensor_test {

struct Array {
  Shape shape;
  std::vector<double> values;

  // With NumPy's broadcasting: leading axes that are missing here, and axes of size 1, take any index.
  double at(const Shape& index) const {
    size_t element = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const i64 i = shape[axis] == 1 ? 0 : index[index.size() - shape.size() + axis];
      element = element * size_t(shape[axis]) + size_t(i);
    }
    return values[element];
  }
  std::vector<float> floats() const { return {values.begin(), values.end()}; }
};

// Calls f(index) for every index of a shape, in row-major order.
template <class F>
Array generate(const Shape& shape, F f) {
  size_t count = 1;
  for (const i64 extent : shape) count *= size_t(extent);
  Array out{shape, std::vector<double>(count)};
  Shape index(shape.size(), 0);
  for (double& v : out.values) {
    v = f(std::as_const(index));
    for (size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
  }
  return out;
}

template <class F>
Array map(const Array& x, F f) {
  Array out = x;
  for (double& v : out.values) v = f(v);
  return out;
}

// x with one coordinate of an index replaced.
inline Shape with(Shape index, i64 axis, i64 value) {
  index[size_t(axis < 0 ? axis + i64(index.size()) : axis)] = value;
  return index;
}

// f over one axis, which stays with extent 1.
template <class F>
Array fold(const Array& x, i64 axis, double start, F f) {
  const i64 extent = x.shape[size_t(axis < 0 ? axis + i64(x.shape.size()) : axis)];
  return generate(with(x.shape, axis, 1), [&](const Shape& index) {
    double v = start;
    for (i64 i = 0; i < extent; ++i) v = f(v, x.at(with(index, axis, i)));
    return v;
  });
}

// Over the last two axes; `shape` is the result's, with whatever leading axes broadcasting gives it.
inline Array product(const Array& x, const Array& y, const Shape& shape) {
  return generate(shape, [&](const Shape& index) {
    double sum = 0;
    for (i64 k = 0; k < x.shape.back(); ++k) sum += x.at(with(index, -1, k)) * y.at(with(index, -2, k));
    return sum;
  });
}

inline Array random_array(Shape shape, u32 seed, float low = -2, float high = 2) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  return generate(shape, [&](const Shape&) { return double(uniform(generator)); });
}

// Multiples of 1/8 in [-2, 2]: they, their products and sums of these are exact in every format and in the matrix unit,
// so that nothing but the right element in the right place gives the right value.
inline Array eighths(Shape shape, u32 seed) {
  std::mt19937 generator(seed);
  return generate(shape, [&](const Shape&) { return (int(generator() % 33) - 16) / 8.0; });
}

inline double largest(const Array& x) {
  double out = 0;
  for (const double v : x.values) out = std::max(out, std::isfinite(v) ? std::fabs(v) : 0);
  return out;
}

}  // namespace baretile::tensor_test
