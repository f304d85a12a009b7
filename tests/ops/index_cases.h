// Reads and writes by index.
#pragma once
#include "ops/cases.h"

namespace baretile::ops_test {

namespace indices {

// A function of x, int32 indices and perhaps values in x's dtype, whose shapes follow from x's.
struct Indexed {
  Shape index;
  i64 below;
  std::optional<Shape> values;
  bool distinct = false;
};
inline Entry indexed(const std::string& name, std::function<std::optional<Indexed>(const Shape&)> shapes_of,
                     Function call, Want want, u32 dtypes = anything) {
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
            c.want = want;
            return c;
          }};
}

// The axis that gather and scatter go along.
inline i64 axis_of(size_t rank) { return rank % 2 ? -1 : 0; }

inline std::optional<Indexed> along_axis(const Shape& shape, bool with_values) {
  if (shape.empty()) return std::nullopt;
  const i64 axis = axis_of(shape.size()), below = extent(shape, axis);
  const Shape index = with(shape, axis, std::min<i64>(below, 3));
  return Indexed{index, below, with_values ? std::optional(index) : std::nullopt};
}

// x after each value, in row-major order, has gone where its index says.
template <class F>
Array scattered(const Arrays& in, F f) {
  Array out = in[0];
  const i64 axis = axis_of(out.shape.size());
  const Array numbers = generate(out.shape, [n = 0.0](const Shape&) mutable { return n++; });
  generate(in[1].shape, [&](const Shape& i) {
    double& element = out.values[size_t(numbers.at(with(i, axis, i64(in[1].at(i)))))];
    return element = f(element, in[2].at(i));
  });
  return out;
}

// Elements of an axis, by the numbers of a list.
inline Array selected(const Array& x, i64 axis, const Array& list) {
  return along(x, axis, [&](const Line& line) { return chosen_of(line, list.values); });
}

}  // namespace indices

inline std::vector<Entry> index_entries() {
  using indices::indexed, indices::Indexed;
  std::vector<Entry> out;
  out.push_back(indexed(
      "gather_rows",
      [](const Shape& shape) -> std::optional<Indexed> {
        if (shape.size() != 2) return std::nullopt;
        return Indexed{{5}, shape[0], {}};
      },
      [](const Tensors& t) { return gather_rows(t[0], t[1]); },
      [](const Arrays& in) { return indices::selected(in[0], 0, in[1]); }));
  out.push_back(indexed(
      "index_select",
      [](const Shape& shape) -> std::optional<Indexed> {
        if (shape.empty()) return std::nullopt;
        return Indexed{{4}, shape[shape.size() / 2], {}};
      },
      [](const Tensors& t) { return t[0].index_select(i64(t[0].rank() / 2), t[1]); },
      [](const Arrays& in) { return indices::selected(in[0], i64(in[0].shape.size() / 2), in[1]); }));
  out.push_back(indexed(
      "gather", [](const Shape& shape) { return indices::along_axis(shape, false); },
      [](const Tensors& t) { return gather(t[0], t[1], indices::axis_of(t[0].rank())); },
      [](const Arrays& in) {
        const i64 axis = indices::axis_of(in[0].shape.size());
        return generate(in[1].shape, [&](const Shape& i) { return in[0].at(with(i, axis, i64(in[1].at(i)))); });
      }));
  const auto with_values = [](const Shape& shape) { return indices::along_axis(shape, true); };
  out.push_back(indexed(
      "scatter", with_values, [](const Tensors& t) { return scatter(t[0], t[1], t[2], indices::axis_of(t[0].rank())); },
      [](const Arrays& in) { return indices::scattered(in, [](double, double value) { return value; }); }));
  out.push_back(indexed(
      "scatter_add", with_values,
      [](const Tensors& t) { return scatter_add(t[0], t[1], t[2], indices::axis_of(t[0].rank())); },
      [](const Arrays& in) { return indices::scattered(in, [](double x, double value) { return x + value; }); },
      numbers));
  out.push_back(indexed(
      "take",
      [](const Shape& shape) -> std::optional<Indexed> {
        return Indexed{{2, 3}, compiler::element_count(shape), {}};
      },
      [](const Tensors& t) { return take(t[0], t[1]); },
      [](const Arrays& in) { return map(in[1], [&](double n) { return in[0].values[size_t(n)]; }); }));
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
      [](const Arrays& in) {
        return generate(in[0].shape, [&](const Shape& i) {
          const Line& rows = in[1].values;
          const auto found = std::find(rows.begin(), rows.end(), double(i.end()[-2]));
          return found == rows.end() ? in[0].at(i) : in[2].at(with(i, -2, found - rows.begin()));
        });
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
                   c.want = [](const Arrays& in) {
                     return generate(in[0].shape, [&](const Shape& i) { return in[i.back() == 1].at(i); });
                   };
                   c.differentiable = dtype == fp32;
                   return c;
                 }});
  out.push_back({"one_hot", integers_only, [](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
                   if (shape.size() > 4) return std::nullopt;
                   Case c{{{values(shape, dtype), dtype}}, [](const Tensors& t) { return one_hot(t[0], 5); }};
                   c.want = [](const Arrays& in) {
                     Shape classes = in[0].shape;
                     classes.push_back(5);
                     return generate(classes, [&](const Shape& i) -> double {
                       return in[0].at(Shape(i.begin(), i.end() - 1)) == double(i.back());
                     });
                   };
                   return c;
                 }});
  return out;
}

}  // namespace baretile::ops_test
