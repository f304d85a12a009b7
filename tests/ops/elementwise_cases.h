// Element by element: each row of ops.def, and composites with their formulas.
#pragma once
#include "baretile/custom.h"
#include "ops/cases.h"

namespace baretile::ops_test {
namespace elementwise {

using Formula = double (*)(double, double);
using Range = double (*)(double);

inline constexpr Range kRanges[] = {[](double v) { return v; }, [](double v) { return std::fabs(v) + 0.5; },
                                    [](double v) { return v / 4; }, [](double v) { return std::fabs(v) + 1.5; }};
inline constexpr Range kIntegerRanges[] = {[](double v) { return v; }, [](double v) { return std::fabs(v) + 1; }};

struct Elementwise {
  std::string name;
  u32 operands, dtypes;
  Function call;
  double ulp;
  double absolute = 0;     // relative to the largest result
  Formula want = nullptr;  // in double; of a row the graph says it
  bool condition = false;  // the first operand is a boolean
};

inline u32 dtypes_of(Kind kind) {
  switch (kind) {
    case Kind::floats:
    case Kind::test:
      return floats;
    case Kind::bits:
    case Kind::signed_bits:
      return integers_only;
    case Kind::ring:
    case Kind::ordered:
      return numbers;
    default:
      return anything;
  }
}

// Rows whose result does not change by a little: their gradient is none.
inline bool has_gradient(const Elementwise& e) {
  Tensors tensors;
  for (u32 n = 0; n < e.operands; ++n)
    tensors.push_back(Tensor::placeholder({3}, e.condition && n == 0 ? DType::boolean : fp32));
  try {
    const Tensor result = e.call(tensors);
    grad(result, std::span(tensors).last(1), Tensor::placeholder({3}, result.dtype()));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// The second operand's shape: the same, a row, a column or a number.
inline Shape other(const Shape& shape, size_t style) {
  if (style % 4 == 3) return {};
  if (shape.size() < 2 || style % 4 == 0) return shape;
  return style % 4 == 1 ? Shape{shape.back()} : with(shape, -1, 1);
}

inline Case with_operands(const Elementwise& e, std::vector<Input> inputs) {
  Case c{std::move(inputs), e.call, {e.ulp}};
  if (e.want)
    c.want = [want = e.want](const std::vector<Array>& in) {
      return generate(in[0].shape, [&](const Shape& i) { return want(in[0].at(i), in.size() > 1 ? in[1].at(i) : 0); });
    };
  return c;
}

// The first range within which all pairs of values have a finite result, in a chain too.
inline Range range_of(const Elementwise& e, DType dtype) {
  static std::map<std::pair<std::string, bool>, Range> known;
  Range& found = known[{e.name, is_float(dtype)}];
  if (found) return found;
  for (const Range range : is_float(dtype) ? std::span<const Range>(kRanges) : kIntegerRanges) {
    bool fits = true;
    for (const double more : {0.0, kNumbers[0].first, kNumbers[1].first}) {
      std::vector<Input> inputs;
      for (u32 n = 0; n < e.operands; ++n) {
        const bool condition = e.condition && n == 0;
        const Array all = generate({33, 33}, [&](const Shape& i) {
          const double v = double(i[n % 2]) - 16;
          return condition ? double(i[0] % 2) : is_float(dtype) ? range(v / 8) + more : range(v / 2) + 4 * more;
        });
        inputs.push_back({all, condition ? DType::boolean : dtype});
      }
      const Case c = with_operands(e, std::move(inputs));
      fits = fits && finite(wanted(c, arrays(c)));
    }
    if (fits) return found = range;
  }
  ADD_FAILURE() << e.name << " has none of the domains tried";
  return found = kRanges[0];
}

inline Case make(const Elementwise& e, const Shape& shape, DType dtype, Source& values) {
  std::vector<Input> inputs;
  for (u32 n = 0; n < e.operands; ++n) {
    const DType its = e.condition && n == 0 ? DType::boolean : dtype;
    Array x = values(n == 1 ? other(shape, shape.size() + e.name.size()) : shape, its);
    if (its != DType::boolean) x = map(x, range_of(e, dtype));
    inputs.push_back({std::move(x), its});
  }
  Case c = with_operands(e, std::move(inputs));
  c.bound.absolute = e.absolute;
  c.bf16_absolute = e.want ? 0x1p-6 : 0;
  // Users' operations are none that the reference knows; tests/transform/custom_test.cpp has their gradients.
  c.on_device = e.name == "custom";
  c.differentiable = dtype == fp32 && !c.on_device && has_gradient(e);
  return c;
}

inline std::vector<Elementwise> all() {
  std::vector<Elementwise> out{
#define UNARY(name, doc, kind, reference, gradient, ulp) \
  {#name, 1, dtypes_of(Kind::kind), [](const Tensors& t) { return name(t[0]); }, ulp},
#define BINARY(name, doc, kind, reference, gradient_x, gradient_y, ulp) \
  {#name, 2, dtypes_of(Kind::kind), [](const Tensors& t) { return name(t[0], t[1]); }, ulp},
#define TERNARY(name, doc, kind, reference, gradient_x, gradient_y, gradient_z, ulp) \
  {#name, 3,       dtypes_of(Kind::kind),     [](const Tensors& t) { return name(t[0], t[1], t[2]); }, ulp,         \
   0,     nullptr, Kind::kind == Kind::choice},
#include "baretile/ops.def"
  };
  const auto one = [&](const char* name, Tensor (*f)(const Tensor&), double ulp, double absolute, Formula want) {
    out.push_back({name, 1, floats, [f](const Tensors& t) { return f(t[0]); }, ulp, absolute, want});
  };
  one("sigmoid", sigmoid, 8, 0, [](double x, double) { return 1 / (1 + std::exp(-x)); });
  one("softplus", softplus, 8, 0,
      [](double x, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); });
  one("silu", silu, 9, 0, [](double x, double) { return x / (1 + std::exp(-x)); });
  one(
      "leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.25); }, 2, 0,
      [](double x, double) { return x > 0 ? x : x * 0.25; });
  one(
      "custom",
      [](const Tensor& x) {
        static const CustomOp cube(
            "cube", R"(
namespace baretile::kernel::sfpu {
// Zero stays zero.
template <u32 D, u32 A>
inline void cube() {
  multiply<D, A, A>();
  nop();
  multiply<D, D, A>();
  nop();
}
}  // namespace baretile::kernel::sfpu
)",
            [](const Tensor& g, std::span<const Tensor> in) { return std::vector{g * 3 * in[0] * in[0]}; });
        return cube({x});
      },
      2, 0, [](double x, double) { return x * x * x; });
  one("gelu", gelu, 8, 0x1p-20, [](double x, double) { return x * 0.5 * std::erfc(-x * M_SQRT1_2); });
  one("gelu_tanh", gelu_tanh, 8, 0x1p-20,
      [](double x, double) { return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))); });
  out.push_back({"clamp", 1, signed_numbers, [](const Tensors& t) { return clamp(t[0], -1, 2); }, 0, 0,
                 [](double x, double) { return std::clamp(x, -1.0, 2.0); }});
  const auto quotient = [](double x, double y) { return std::floor(x / y); };
  const auto rest = [](double x, double y) { return x - y * std::floor(x / y); };
  out.push_back(
      {"floor_divide", 2, numbers, [](const Tensors& t) { return floor_divide(t[0], t[1]); }, 0, 0, quotient});
  out.push_back({"remainder", 2, numbers, [](const Tensors& t) { return remainder(t[0], t[1]); }, 2, 0x1p-22, rest});
  // The condition stands first, as where's does.
  out.push_back({"masked_fill", 2, anything,
                 [](const Tensors& t) { return masked_fill(t[1].expand(t[0].shape()), t[0], 1); }, 0, 0,
                 [](double mask, double x) { return mask != 0 ? 1 : x; }, true});
  return out;
}

}  // namespace elementwise

inline std::vector<Entry> elementwise_entries() {
  std::vector<Entry> out;
  for (const elementwise::Elementwise& e : elementwise::all())
    out.push_back({e.name, e.dtypes, [e](const Shape& shape, DType dtype, Source& source) {
                     return elementwise::make(e, shape, dtype, source);
                   }});
  return out;
}

}  // namespace baretile::ops_test
