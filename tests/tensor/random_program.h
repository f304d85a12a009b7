// Random programs over tensors, and what they mean on the host: every value an Array in double, with how far the
// device's may lie from it. Values without error are compared exactly, and only they are compared with each other,
// become integers, or choose.
#pragma once
#include <fmt/ranges.h>

#include <numeric>
#include <optional>

#include "compiler/reference.h"
#include "tensor/support.h"

namespace baretile::tensor_test {

struct Value {
  Tensor tensor;
  Array array;
  DType dtype = fp32;
  double error = 0;  // of every element
};

inline double wrapped(double x, DType dtype) {
  const u32 word = u32(i64(x - std::floor(x / 0x1p32) * 0x1p32));
  return dtype == DType::int32 ? double(i32(word)) : double(word);
}
inline double greatest(const Array& x) {
  double out = 0;
  for (const double v : x.values) out = std::max(out, std::fabs(v));
  return out;
}
inline double bf16_value(double v) { return float_from_bf16(bf16_from_float(float(v))); }
// The smallest power of two of which all values are multiples, at most 1.
inline double grid(const Array& x) {
  double out = 1;
  for (const double v : x.values) {
    while (out > 0x1p-60 && std::trunc(v / out) * out != v) out /= 2;
  }
  return out;
}
// Values of a dtype that a seed stands for: floats are exact in bf16 and the matrix unit.
inline Array random_values(const Shape& shape, DType dtype, u32 seed) {
  std::mt19937 random(seed);
  const bool wild = seed % 4 == 0;
  return generate(shape, [&](const Shape&) -> double {
    const u32 word = random();
    if (dtype == DType::boolean) return word % 2;
    if (is_float(dtype)) return (int(word % 33) - 16) / 8.0;
    if (wild) return wrapped(word >> word % 32, dtype);
    return dtype == DType::uint32 ? double(word % 9) : double(word % 17) - 8;
  });
}

// What a value becomes in another dtype; nothing where that cannot be told.
inline std::optional<Array> converted(const Value& x, DType to, double& error) {
  error = x.error;
  if (to == x.dtype) return x.array;
  if (x.error > 0 && !is_float(to)) return std::nullopt;
  Array out = x.array;
  for (double& v : out.values) {
    if (to == DType::boolean) {
      v = v != 0;
    } else if (is_integer(to)) {
      const double low = to == DType::int32 ? -0x1p31 : 0, high = to == DType::int32 ? 0x1p31 - 1 : 0x1p32 - 1;
      v = is_integer(x.dtype) ? wrapped(v, to) : std::trunc(std::clamp(v, low, high));
    } else {
      v = float(v);
      if (to == bf16 && bf16_value(v) != v) error = std::max(error, greatest(x.array) * 0x1p-7);
    }
  }
  return out;
}

// Makes values one after the other from raw random numbers, whose meaning depends on what is there already: so any
// sequence of them is a program, and one without some of them still is.
class Interpreter {
 public:
  struct Step {
    u32 kind, a, b, c, p, q;
  };
  Interpreter(Runtime& runtime, bool print) : runtime_(runtime), print_(print) {}

  // False when the step makes nothing that could be checked; the value is then that of its operand.
  bool run(const Step& step) {
    step_ = step;
    code_.clear();
    const size_t before = values.size();
    if (before == 0 || step.kind % 16 == 0) {
      input();
    } else {
      make();
    }
    const bool made = values.size() > before;
    if (!made) values.push_back(operand(step.a));
    if (made && print_) text += fmt::format("const Tensor t{} = {};\n", before, code_);
    if (made && step.q % 16 == 0 && step.kind % 16 != 0) {
      values.back().tensor.realize();
      if (print_) text += fmt::format("Tensor(t{}).realize();\n", before);
    }
    return made;
  }

  std::vector<Value> values;
  std::string text;  // the program as code

 private:
  static constexpr size_t kMost = 5000;  // elements
  static constexpr DType kDTypes[] = {DType::boolean, DType::uint32, DType::int32, bf16, fp32};

  u32 index(u32 raw) const {  // mostly recent ones
    const u32 n = u32(values.size());
    return raw % 4 == 3 ? raw / 4 % n : n - 1 - raw / 4 % std::min<u32>(n, 4);
  }
  const Value& operand(u32 raw) const { return values[index(raw)]; }
  // The next value from an index on that fits; the index itself where none does.
  template <class Fits>
  u32 partner(u32 raw, Fits fits) const {
    const u32 n = u32(values.size()), first = index(raw);
    for (u32 i = 0; i < n; ++i) {
      if (fits(values[(first + i) % n])) return (first + i) % n;
    }
    return first;
  }

  // Takes a result if it can be checked. `error` is that of the operation itself and of its operands.
  void give(Tensor tensor, Array array, DType dtype, double error, const std::string& code) {
    if (array.values.empty() || array.values.size() > kMost) return;
    for (double& v : array.values) {
      if (is_integer(dtype)) {
        if (!(std::fabs(v) < 0x1p63)) return;
        v = wrapped(v, dtype);
      }
      if (!std::isfinite(v) || std::fabs(v) > (error > 0 ? 64 : 0x1p100) ||
          (v != 0 && error == 0 && std::fabs(v) < 0x1p-60))
        return;
    }
    if (is_float(dtype)) {
      const double top = greatest(array);
      bool exact32 = true, exact16 = true;
      for (const double v : array.values) exact32 = exact32 && float(v) == v, exact16 = exact16 && bf16_value(v) == v;
      if (!exact32) error += top * 0x1p-22;
      if (dtype == bf16 && (error > 0 || !exact16)) error += top * 0x1p-7;
      if (error > 0 && top > 64) return;
      if (error > 0.05 * std::max(1.0, top)) return;
    } else if (error > 0) {
      return;
    }
    if (tensor.shape() != array.shape || tensor.dtype() != dtype) {
      ADD_FAILURE() << fmt::format("{} is {} {} instead of {} {}", code, compiler::to_string(tensor.dtype()),
                                   compiler::to_string(tensor.shape()), compiler::to_string(dtype),
                                   compiler::to_string(array.shape));
    }
    code_ = code;
    values.push_back({std::move(tensor), std::move(array), dtype, error});
  }

  void input() {
    static constexpr i64 kExtents[] = {1, 2, 3, 5, 7, 31, 32, 33, 40, 65};
    Shape shape;
    size_t count = 1;
    for (u32 rank = step_.q % 5, raw = step_.p / 8; rank > 0; --rank, raw /= 10) {
      const i64 extent = kExtents[(rank > 2 ? raw % 4 : raw) % 10];
      if (count * size_t(extent) > kMost) continue;
      shape.push_back(extent);
      count *= size_t(extent);
    }
    const DType dtype = kDTypes[std::min(step_.p % 8, 4u)];
    const Array x = random_values(shape, dtype, step_.b);
    Tensor t = dtype == DType::int32
                   ? Tensor::from_host(runtime_, std::vector<i32>(x.values.begin(), x.values.end()), shape)
               : dtype == DType::uint32
                   ? Tensor::from_host(runtime_, std::vector<u32>(x.values.begin(), x.values.end()), shape)
                   : Tensor::from_host(runtime_, x.floats(), shape, dtype);
    give(t, x, dtype, 0,
         fmt::format("upload(random_values({{{}}}, DType::{}, {}u), DType::{})", fmt::join(shape, ", "),
                     compiler::to_string(dtype), step_.b, compiler::to_string(dtype)));
  }

  void make() {
    switch (step_.kind % 16) {
      case 1:
      case 2:
        return unary();
      case 3:
      case 4:
      case 5:
        return binary();
      case 6:
        return choice();
      case 7:
      case 8:
      case 9:
        return view();
      case 10:
      case 11:
        return reduction();
      case 12:
        return product();
      case 13:
        return cast();
      case 14:
        return along_axis();
      default:
        return move();
    }
  }

  void unary();
  void binary();
  void choice();
  void view();
  void reduction();
  void product();
  void cast();
  void along_axis();
  void move();

  std::string name(u32 raw) const { return fmt::format("t{}", index(raw)); }
  i64 axis_of(const Value& x) const { return i64(step_.p % u32(x.array.shape.size())); }

  Runtime& runtime_;
  const bool print_;
  Step step_{};
  std::string code_;
};

inline void Interpreter::product() {
  const Value& x = operand(step_.a);
  if (x.array.shape.size() < 2) return;
  const i64 rows = x.array.shape[x.array.shape.size() - 2], k = x.array.shape.back();
  const auto fits = [&](const Value& v) {
    const bool both_whole = !is_float(v.dtype) && !is_float(x.dtype);
    return v.array.shape.size() == 2 && v.array.shape[0] == k &&
           (both_whole || (!is_integer(v.dtype) && !is_integer(x.dtype)));
  };
  const u32 second = partner(step_.b, fits);
  Value y = values[second];
  std::string right = fmt::format("t{}", second);
  if (!fits(y)) {
    y = x;
    right = name(step_.a) + ".transpose()";
    Shape shape = x.array.shape;
    std::swap(shape.back(), shape[shape.size() - 2]);
    y.array = generate(shape, [&](Shape i) {
      std::swap(i.back(), i[i.size() - 2]);
      return x.array.at(i);
    });
    y.tensor = x.tensor.transpose();
  }
  Shape shape = x.array.shape;
  shape.back() = y.array.shape.back();
  if (compiler::element_count(shape) > i64(kMost) || rows * k * shape.back() > 200000) return;
  double terms = 0;
  const Array sizes = baretile::tensor_test::product(map(x.array, [](double v) { return std::fabs(v); }),
                                                     map(y.array, [](double v) { return std::fabs(v); }), shape);
  for (const double v : sizes.values) terms = std::max(terms, v);
  const std::string code = fmt::format("matmul({}, {})", name(step_.a), right);
  const Array out = baretile::tensor_test::product(x.array, y.array, shape);
  if (!is_float(x.dtype) && !is_float(y.dtype)) {
    const DType meeting = std::max(x.dtype, y.dtype);
    if (terms < 0x1p53)
      give(matmul(x.tensor, y.tensor), out, meeting == DType::boolean ? DType::int32 : meeting, 0, code);
    return;
  }
  // The matrix unit keeps 11 bits of the largest of eight products, and sums these in 32 bits. With fp32 on the right
  // it takes the first 11 bits of one operand and 10 of the other.
  const double unit = grid(x.array) * grid(y.array);
  bool exact =
      x.error == 0 && y.error == 0 && terms < unit * 0x1p24 && greatest(x.array) * greatest(y.array) <= unit * 0x1p10;
  for (const Array* array : std::initializer_list<const Array*>{&x.array, &y.array}) {
    for (const double v : array->values) exact = exact && bf16_value(v) == v;
  }
  const DType dtype = std::max({x.dtype, y.dtype, bf16});
  const double rounding = y.dtype == fp32 ? 0x1p-9 + 0x1p-10 + 0x1p-11 : 0x1p-9;
  const double error =
      exact ? 0 : terms * rounding + double(k) * (x.error * greatest(y.array) + y.error * greatest(x.array));
  give(matmul(x.tensor, y.tensor), out, dtype, error, code);
}

inline void Interpreter::cast() {
  const Value& x = operand(step_.a);
  const DType dtype = kDTypes[step_.p % 5];
  double error = 0;
  if (const std::optional<Array> out = converted(x, dtype, error))
    give(x.tensor.cast(dtype), *out, dtype, error,
         fmt::format("{}.cast(DType::{})", name(step_.a), compiler::to_string(dtype)));
}

// Composites over one axis.
inline void Interpreter::along_axis() {
  const Value& x = operand(step_.a);
  if (x.array.shape.empty()) return;
  const i64 axis = axis_of(x), n = x.array.shape[size_t(axis)];
  const std::string of = name(step_.a);
  const auto column = [&](const Shape& i) {
    std::vector<double> out;
    for (i64 k = 0; k < n; ++k) out.push_back(x.array.at(with(i, axis, k)));
    return out;
  };
  const Shape kept = with(x.array.shape, axis, 1);
  switch (step_.c % 6) {
    case 0:
    case 1: {
      if (x.error > 0) return;
      const bool largest = step_.c % 6 == 0;
      const Array out = generate(kept, [&](const Shape& i) {
        const auto values = column(i);
        return double((largest ? std::max_element(values.begin(), values.end())
                               : std::min_element(values.begin(), values.end())) -
                      values.begin());
      });
      return give(largest ? argmax(x.tensor, axis, true) : argmin(x.tensor, axis, true), out, DType::int32, 0,
                  fmt::format("{}({}, {}, true)", largest ? "argmax" : "argmin", of, axis));
    }
    case 2: {
      if (x.dtype == bf16 || x.error > 0 ||
          (is_float(x.dtype) && greatest(x.array) * double(n) / grid(x.array) > 0x1p24))
        return;
      const Array out = generate(x.array.shape, [&](const Shape& i) {
        const auto values = column(i);
        return std::accumulate(values.begin(), values.begin() + i[size_t(axis)] + 1, 0.0);
      });
      const DType dtype = x.dtype == DType::boolean && n > 1 ? DType::int32 : x.dtype;
      return give(cumsum(x.tensor, axis), out, dtype, 0, fmt::format("cumsum({}, {})", of, axis));
    }
    case 3: {
      if (greatest(x.array) > 80 || x.dtype == bf16) return;
      const Array out = generate(x.array.shape, [&](const Shape& i) {
        double total = 0;
        for (const double v : column(i)) total += std::exp(v - x.array.at(i));
        return 1 / total;
      });
      return give(softmax(x.tensor, axis), out, fp32, 2 * x.error + 0x1p-18, fmt::format("softmax({}, {})", of, axis));
    }
    case 4: {
      if (x.error > 0 || n * i64(x.array.values.size()) > 40000) return;
      if (axis + 1 != i64(x.array.shape.size())) return;
      const Array out = generate(x.array.shape, [&](const Shape& i) {
        const auto values = column(i);
        std::vector<i64> order(values.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](i64 a, i64 b) { return values[size_t(a)] < values[size_t(b)]; });
        return double(order[size_t(i.back())]);
      });
      return give(argsort(x.tensor), out, DType::int32, 0, fmt::format("argsort({})", of));
    }
    default: {
      if (x.array.shape.size() < 2) return;
      const i64 diagonal = i64(step_.b % 9) - 4;
      const Array out = generate(
          x.array.shape, [&](const Shape& i) { return i.back() - i[i.size() - 2] <= diagonal ? x.array.at(i) : 0; });
      return give(tril(x.tensor, diagonal), out, x.dtype, x.error, fmt::format("tril({}, {})", of, diagonal));
    }
  }
}

}  // namespace baretile::tensor_test
