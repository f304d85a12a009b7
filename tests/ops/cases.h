// What the harness runs: for every row of ops.def and every function of tensor.h and nn.h, operands of a shape and a
// dtype, and a call. What the result must be is a formula of its own (formulas.h); of the rows that work element by
// element it is their reference in ops.def, which the graph of that one node is evaluated with (compiler/reference.h).
#pragma once
#include <fmt/format.h>

#include <map>
#include <optional>

#include "ops/formulas.h"
#include "tensor/derivative.h"
#include "tensor/rows.h"
#include "tensor/support.h"

namespace baretile::ops_test {

using compiler::Kind;
using compiler::Op;
using namespace tensor_test;

inline constexpr DType kAll[] = {fp32, bf16, DType::int32, DType::uint32, DType::boolean};
enum Takes : u32 { floats = 3, signed_numbers = 7, numbers = 15, integers_only = 12, anything = 31, fp32_only = 1 };
inline u32 bit_of(DType dtype) { return 1u << (std::find(std::begin(kAll), std::end(kAll), dtype) - std::begin(kAll)); }

// Extents around those of pages and faces, primes, none; ranks 0 to 5.
inline const std::vector<Shape> kShapes{{33, 63},    {31}, {2, 3, 32},       {},       {65, 1},         {1, 37},
                                        {3, 33, 31}, {1},  {1, 2, 3, 5, 13}, {32, 65}, {2, 1, 3, 7, 2}, {2, 3, 7, 33},
                                        {63, 32},    {0},  {7, 0, 3},        {2, 0}};

// Makes the values of operands. For the device: multiples of 1/8 or small whole numbers, exact in every format. For
// gradients: values at which no function has a step or a corner, and where wanted all of them different.
struct Source {
  u32 seed = 1;
  bool for_gradient = false;

  Array operator()(const Shape& shape, DType dtype = fp32, bool different = false) {
    const u32 now = seed++;
    if (is_float(dtype) && for_gradient && different) {
      double n = 0;
      return generate(shape, [&](const Shape&) { return n += 1, std::fmod(0.37 * n, 1.0) + n * 1e-3; });
    }
    if (is_float(dtype) && for_gradient) return off_grid(shape, now);
    if (is_float(dtype)) return eighths(shape, now);
    std::mt19937 random(now);
    return generate(shape, [&](const Shape&) -> double {
      return dtype == DType::boolean ? random() % 2 : dtype == DType::uint32 ? random() % 9 : double(random() % 17) - 8;
    });
  }
  // Numbers from 0 on, below a limit.
  Array index(const Shape& shape, i64 below) {
    std::mt19937 random(seed++);
    return generate(shape, [&](const Shape&) { return double(i64(random()) % below); });
  }
};

struct Case {
  std::vector<Input> inputs = {};
  Function call = {};
  Bound bound = {};
  double bf16_absolute = 0;  // relative to the largest result: of what is stored in bf16 in between
  bool differentiable = false;
  double tolerance = 2e-6;  // of its gradient
  bool indexed = false;     // the second operand says where, not what
  bool on_device = false;   // there is no graph of it that means something without one
  Want want = {};           // without one the graph says it
};

struct Entry {
  std::string name;  // of the row or function
  u32 dtypes;
  std::function<std::optional<Case>(const Shape&, DType, Source&)> make;  // nothing where the shape does not fit
};

inline Arrays arrays(const Case& c) {
  Arrays out;
  for (const Input& input : c.inputs) out.push_back(input.value);
  return out;
}
inline Array graph_by_the_book(const Case& c, const Arrays& inputs) {
  Tensors tensors;
  for (size_t n = 0; n < inputs.size(); ++n) tensors.push_back(Tensor::placeholder(inputs[n].shape, c.inputs[n].dtype));
  return by_the_book({c.call(tensors)}, tensors, inputs)[0];
}
inline Array wanted(const Case& c, const Arrays& inputs) {
  return c.want ? c.want(inputs) : graph_by_the_book(c, inputs);
}
inline bool finite(const Array& x) {
  return std::all_of(x.values.begin(), x.values.end(), [](double v) { return std::isfinite(v); });
}

// What surrounds a case in a chain: numbers that no cached program may remember.
struct Numbers {
  double first, factor;  // of floats and, times 4, of integers
};
inline constexpr Numbers kNumbers[] = {{0.25, -2}, {0.5, -4}};

inline double before(double v, DType dtype, const Numbers& n) {
  return dtype == DType::boolean ? v == 0 : v + (is_float(dtype) ? n.first : n.first * 4);
}
inline double after(double v, DType dtype, const Numbers& n) {
  return dtype == DType::boolean ? v == 0 : v * (dtype == DType::uint32 ? -n.factor : n.factor);
}

}  // namespace baretile::ops_test
