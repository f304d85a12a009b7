// What moves elements: views, joins, reads and writes by index, casts, and tensors from nothing.
#pragma once
#include "ops/cases.h"

namespace baretile::ops_test {

namespace moves {

using View = std::function<std::optional<Function>(const Shape&)>;

// A function of one operand of any dtype, exact.
inline Entry view(const std::string& name, View view_of, bool differentiable = true) {
  return {name, anything, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            const std::optional<Function> call = view_of(shape);
            if (!call) return std::nullopt;
            Case c{{{values(shape, dtype), dtype}}, *call};
            c.differentiable = differentiable && dtype == fp32;
            return c;
          }};
}

// A function of x, int32 indices and perhaps values in x's dtype, whose shapes follow from x's.
struct Indexed {
  Shape index;
  i64 below;
  std::optional<Shape> values;
  bool distinct = false;
};
inline Entry indexed(const std::string& name, std::function<std::optional<Indexed>(const Shape&)> shapes_of,
                     Function call, u32 dtypes = anything) {
  return {name, dtypes, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            const std::optional<Indexed> its = shapes_of(shape);
            if (!its || (its->below == 0 && !is_empty(its->index))) return std::nullopt;
            Case c{{{values(shape, dtype), dtype}}, call};
            Array index = values.index(its->index, std::max<i64>(its->below, 1));
            if (its->distinct)
              for (size_t n = 0; n < index.values.size(); ++n) index.values[n] = double(its->below - 1 - i64(n));
            c.inputs.push_back({index, DType::int32});
            if (its->values) c.inputs.push_back({values(*its->values, dtype), dtype});
            c.differentiable = dtype == fp32, c.indexed = true;
            return c;
          }};
}

// A tensor from nothing, of a shape, plus an operand of that shape, of which it has its device.
inline Entry made(const std::string& name, size_t rank, std::function<Tensor(Runtime&, const Shape&)> make,
                  std::function<double(const Shape&)> value, double absolute = 0) {
  return {name, fp32_only, [=](const Shape& shape, DType, Source& values) -> std::optional<Case> {
            if (rank != 0 && shape.size() != rank) return std::nullopt;
            Case c{{{values(shape), fp32}}, [=](const Tensors& t) {
                     return t[0].runtime() ? make(*t[0].runtime(), t[0].shape()) + t[0] : t[0];
                   }};
            c.bound.absolute = absolute;
            c.want = [=](const std::vector<Array>& in) {
              return generate(shape, [&](const Shape& i) { return value(i) + in[0].at(i); });
            };
            return c;
          }};
}

}  // namespace moves

inline std::vector<Entry> view_entries() {
  using moves::view;
  const auto of = [](Function f) { return [f](const Shape&) { return std::optional(f); }; };
  // For shapes of that rank or above.
  const auto from_rank = [](size_t rank, Function f) {
    return [=](const Shape& shape) { return shape.size() < rank ? std::nullopt : std::optional(f); };
  };
  std::vector<Entry> out;
  out.push_back(view("reshape", [](const Shape& shape) {
    Shape turned(shape.rbegin(), shape.rend());
    return std::optional<Function>([turned](const Tensors& t) { return t[0].reshape(turned); });
  }));
  out.push_back(view("permute", [](const Shape& shape) {
    std::vector<i64> axes;
    for (size_t n = 0; n < shape.size(); ++n) axes.push_back(i64((n + 1) % shape.size()));
    return std::optional<Function>([axes](const Tensors& t) { return t[0].permute(axes); });
  }));
  out.push_back(view("transpose", from_rank(2, [](const Tensors& t) { return t[0].transpose(); })));
  out.push_back(view("squeeze", of([](const Tensors& t) { return t[0].unsqueeze(0).squeeze(0); })));
  out.push_back(view("unsqueeze", of([](const Tensors& t) { return t[0].unsqueeze(-1); })));
  out.push_back(view("flip", from_rank(1, [](const Tensors& t) { return t[0].flip(i64(t[0].rank() / 2)); })));
  out.push_back(view("slice", from_rank(1, [](const Tensors& t) {
                       const i64 axis = i64(t[0].rank() / 2), n = t[0].size(axis);
                       return t[0].slice(axis, n / 3, n);
                     })));
  out.push_back(view("slice with a step", from_rank(1, [](const Tensors& t) {
                       const i64 n = t[0].size(-1);
                       return n < 2 ? t[0] : t[0].slice(-1, n - 1, 0, -2);
                     })));
  out.push_back(view("split", from_rank(1, [](const Tensors& t) {
                       const i64 n = t[0].size(0);
                       return t[0].split(0, {n / 2, n - n / 2})[1];
                     })));
  out.push_back(view("expand", [](const Shape& shape) {
    Shape wide = shape;
    wide.insert(wide.begin(), 2);
    for (i64& n : wide) n = n == 1 ? 3 : n;
    if (wide.size() > 5) return std::optional<Function>();
    return std::optional<Function>([wide](const Tensors& t) { return t[0].expand(wide); });
  }));
  out.push_back(view("repeat", from_rank(1, [](const Tensors& t) { return t[0].repeat(-1, 2); })));
  out.push_back(view("pad", from_rank(1, [](const Tensors& t) { return t[0].pad(-1, 1, 2, 1); })));
  out.push_back(view("concat", from_rank(1, [](const Tensors& t) {
                       const i64 axis = i64(t[0].rank()) / 2;
                       return concat({t[0], t[0].flip(axis)}, axis);
                     })));
  out.push_back(view("stack", [](const Shape& shape) {
    if (shape.size() > 4) return std::optional<Function>();
    return std::optional<Function>([](const Tensors& t) { return stack({t[0], t[0]}, i64(t[0].rank()) / 2); });
  }));
  out.push_back(view("swap_halves", [](const Shape& shape) {
    if (shape.empty() || shape.back() % 2 != 0) return std::optional<Function>();
    return std::optional<Function>([](const Tensors& t) { return swap_halves(t[0]); });
  }));
  out.push_back(view("detach", of([](const Tensors& t) { return t[0].detach().unsqueeze(0); }), false));
  return out;
}

inline std::vector<Entry> index_entries() {
  using moves::indexed, moves::Indexed;
  const auto matrix = [](const Shape& shape) -> std::optional<Indexed> {
    if (shape.size() != 2) return std::nullopt;
    return Indexed{{5}, shape[0], {}};
  };
  const auto along_last = [](bool with_values) {
    return [=](const Shape& shape) -> std::optional<Indexed> {
      if (shape.empty()) return std::nullopt;
      const Shape index = with(shape, -1, std::min<i64>(shape.back(), 3));
      return Indexed{index, shape.back(), with_values ? std::optional(index) : std::nullopt};
    };
  };
  std::vector<Entry> out;
  out.push_back(indexed("gather_rows", matrix, [](const Tensors& t) { return gather_rows(t[0], t[1]); }));
  out.push_back(indexed(
      "index_select",
      [](const Shape& shape) -> std::optional<Indexed> {
        if (shape.empty()) return std::nullopt;
        return Indexed{{4}, shape[shape.size() / 2], {}};
      },
      [](const Tensors& t) { return t[0].index_select(i64(t[0].rank() / 2), t[1]); }));
  out.push_back(indexed("gather", along_last(false), [](const Tensors& t) { return gather(t[0], t[1]); }));
  out.push_back(indexed("scatter", along_last(true), [](const Tensors& t) { return scatter(t[0], t[1], t[2]); }));
  out.push_back(indexed(
      "scatter_add", along_last(true), [](const Tensors& t) { return scatter_add(t[0], t[1], t[2]); }, numbers));
  out.push_back(indexed(
      "take",
      [](const Shape& shape) -> std::optional<Indexed> {
        return Indexed{{2, 3}, compiler::element_count(shape), {}};
      },
      [](const Tensors& t) { return take(t[0], t[1]); }));
  out.push_back(indexed(
      "assign_rows",
      [](const Shape& shape) -> std::optional<Indexed> {
        if (shape.size() < 2 || extent(shape, -2) < 2) return std::nullopt;
        return Indexed{{2}, extent(shape, -2), with(shape, -2, 2), true};
      },
      [](const Tensors& t) {
        Tensor x = t[0].reshape(t[0].shape()) + 0;  // a value of its own
        x.assign_rows(t[1], t[2]);
        return x;
      },
      signed_numbers));
  out.push_back({"assign", anything, [](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
                   if (shape.empty() || extent(shape, -1) < 2) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}, {values(with(shape, -1, 1), dtype), dtype}},
                          [](const Tensors& t) {
                            Tensor x = t[0];
                            x.assign(-1, 1, t[1]);
                            return x;
                          }};
                   c.differentiable = dtype == fp32;
                   return c;
                 }});
  out.push_back({"one_hot", integers_only, [](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
                   if (shape.size() > 4) return std::nullopt;
                   return Case{{{values(shape, dtype), dtype}}, [](const Tensors& t) { return one_hot(t[0], 5); }};
                 }});
  return out;
}

inline std::vector<Entry> made_entries() {
  using moves::made;
  using Index = const Shape&;
  std::vector<Entry> out;
  // A composite of another dtype: of all values that both hold.
  for (const DType to : {fp32, bf16, DType::int32, DType::uint32, DType::boolean, DType::bfp8, DType::bfp4})
    out.push_back({fmt::format("cast to {}", compiler::to_string(to)), anything,
                   [to](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
                     if (is_block(to) && (shape.size() < 2 || extent(shape, -2) < 2)) return std::nullopt;
                     Array x = values(shape, dtype);
                     if (to == DType::uint32) x = map(x, [](double v) { return std::fabs(v); });
                     if (to == DType::bfp4) x = map(x, [](double v) { return v > 0 ? 2 : v == 0 ? 0 : -2; });
                     if (to == DType::bfp4 && !is_float(dtype)) x = map(x, [](double v) { return v != 0; });
                     Case c{{{x, dtype}}, [to](const Tensors& t) { return t[0].cast(to); }};
                     c.want = [to](const std::vector<Array>& in) {
                       return map(in[0], [&](double v) {
                         return to == DType::boolean ? double(v != 0) : is_integer(to) ? std::trunc(v) : v;
                       });
                     };
                     return c;
                   }});
  out.push_back(made(
      "zeros", 0, [](Runtime& rt, Index s) { return Tensor::zeros(rt, s); }, [](Index) { return 0; }));
  out.push_back(made(
      "ones", 0, [](Runtime& rt, Index s) { return Tensor::ones(rt, s); }, [](Index) { return 1; }));
  out.push_back(made(
      "full", 0, [](Runtime& rt, Index s) { return Tensor::full(rt, s, -1.5); }, [](Index) { return -1.5; }));
  out.push_back(made(
      "arange", 1, [](Runtime& rt, Index s) { return Tensor::arange(rt, 3, 3 + s[0]); },
      [](Index i) { return 3 + double(i[0]); }));
  out.push_back(made(
      "linspace", 1, [](Runtime& rt, Index s) { return Tensor::linspace(rt, 0, double(s[0] - 1), s[0]); },
      [](Index i) { return double(i[0]); }, 0x1p-22));
  out.push_back(made(
      "eye", 2, [](Runtime& rt, Index s) { return Tensor::eye(rt, s[0], s[1]); },
      [](Index i) { return i[0] == i[1]; }));
  out.push_back(made(
      "tri", 2, [](Runtime& rt, Index s) { return Tensor::tri(rt, s[0], s[1], 1); },
      [](Index i) { return i[1] <= i[0] + 1; }));
  out.push_back(made(
      "of", 2, [](Runtime& rt, Index) { return Tensor::of(rt, {{-2}}); }, [](Index) { return -2; }));
  return out;
}

}  // namespace baretile::ops_test
