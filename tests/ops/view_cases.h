// What moves elements without looking at them: views and joins.
#pragma once
#include "ops/cases.h"

namespace baretile::ops_test {

namespace views {

struct View {
  Function call;
  Want want;
};
using ViewOf = std::function<std::optional<View>(const Shape&)>;

// A function of one operand of any dtype, exact.
inline Entry view(const std::string& name, ViewOf view_of, bool differentiable = true) {
  return {name, anything, [=](const Shape& shape, DType dtype, Source& values) -> std::optional<Case> {
            std::optional<View> its = view_of(shape);
            if (!its) return std::nullopt;
            Case c{{{values(shape, dtype), dtype}}, std::move(its->call)};
            c.want = std::move(its->want);
            c.differentiable = differentiable && dtype == fp32;
            return c;
          }};
}

// One that makes of each line along the first, a middle or the last axis another line.
enum Axis { first, middle, last };
inline Entry lines(const std::string& name, Axis axis, Tensor (*call)(const Tensor&, i64), Line (*f)(const Line&)) {
  return view(name, [=](const Shape& shape) -> std::optional<View> {
    if (shape.empty()) return std::nullopt;
    const i64 at = axis == first ? 0 : axis == middle ? i64(shape.size() / 2) : -1;
    return View{[=](const Tensors& t) { return call(t[0], at); },
                [=](const Arrays& in) { return along(in[0], at, f); }};
  });
}
// One that gives the same elements another shape.
inline Entry shaped(const std::string& name, Tensor (*call)(const Tensor&), Shape (*shape_of)(Shape),
                    bool differentiable = true) {
  return view(
      name,
      [=](const Shape& shape) {
        return View{[=](const Tensors& t) { return call(t[0]); },
                    [=](const Arrays& in) {
                      return Array{shape_of(shape), in[0].values};
                    }};
      },
      differentiable);
}

inline Shape turned(Shape shape) { return {shape.rbegin(), shape.rend()}; }
inline std::vector<i64> next_axes(const Shape& shape) {
  std::vector<i64> axes;
  for (size_t n = 0; n < shape.size(); ++n) axes.push_back(i64((n + 1) % shape.size()));
  return axes;
}
inline Shape swapped(Shape shape) {
  std::swap(shape.end()[-1], shape.end()[-2]);
  return shape;
}

}  // namespace views

inline std::vector<Entry> view_entries() {
  using views::view, views::lines, views::shaped, views::View;
  std::vector<Entry> out;
  out.push_back(shaped(
      "reshape", [](const Tensor& x) { return x.reshape(views::turned(x.shape())); }, views::turned));
  out.push_back(view("permute", [](const Shape& shape) {
    const std::vector<i64> axes = views::next_axes(shape);
    return View{[=](const Tensors& t) { return t[0].permute(axes); },
                [=](const Arrays& in) {
                  Shape moved = shape, from = shape;
                  for (size_t n = 0; n < axes.size(); ++n) moved[n] = shape[size_t(axes[n])];
                  return generate(moved, [&](const Shape& i) {
                    for (size_t n = 0; n < axes.size(); ++n) from[size_t(axes[n])] = i[n];
                    return in[0].at(from);
                  });
                }};
  }));
  out.push_back(view("transpose", [](const Shape& shape) -> std::optional<View> {
    if (shape.size() < 2) return std::nullopt;
    return View{[](const Tensors& t) { return t[0].transpose(); },
                [=](const Arrays& in) {
                  return generate(views::swapped(shape), [&](const Shape& i) { return in[0].at(views::swapped(i)); });
                }};
  }));
  const auto same = [](Shape shape) { return shape; };
  const auto with_one_behind = [](Shape shape) {
    shape.push_back(1);
    return shape;
  };
  const auto with_one_in_front = [](Shape shape) {
    shape.insert(shape.begin(), 1);
    return shape;
  };
  out.push_back(shaped(
      "squeeze", [](const Tensor& x) { return x.unsqueeze(0).squeeze(0); }, same));
  out.push_back(shaped(
      "unsqueeze", [](const Tensor& x) { return x.unsqueeze(-1); }, with_one_behind));
  out.push_back(shaped(
      "detach", [](const Tensor& x) { return x.detach().unsqueeze(0); }, with_one_in_front, false));
  out.push_back(lines(
      "flip", views::middle, [](const Tensor& x, i64 axis) { return x.flip(axis); }, reversed));
  out.push_back(lines(
      "slice", views::middle, [](const Tensor& x, i64 axis) { return x.slice(axis, x.size(axis) / 3, x.size(axis)); },
      [](const Line& l) { return Line(l.begin() + i64(l.size() / 3), l.end()); }));
  out.push_back(lines(
      "slice with a step", views::last,
      [](const Tensor& x, i64 axis) { return x.size(axis) < 2 ? x : x.slice(axis, x.size(axis) - 1, 0, -2); },
      [](const Line& l) {
        if (l.size() < 2) return l;
        Line some;
        for (size_t n = l.size() - 1; n > 0; n = n < 2 ? 0 : n - 2) some.push_back(l[n]);
        return some;
      }));
  out.push_back(lines(
      "split", views::first,
      [](const Tensor& x, i64 axis) {
        return x.split(axis, {x.size(axis) / 2, x.size(axis) - x.size(axis) / 2})[1];
      },
      [](const Line& l) { return Line(l.begin() + i64(l.size() / 2), l.end()); }));
  out.push_back(view("expand", [](const Shape& shape) -> std::optional<View> {
    if (shape.size() > 4) return std::nullopt;
    Shape wide = shape;
    wide.insert(wide.begin(), 2);
    for (i64& n : wide) n = n == 1 ? 3 : n;
    return View{[=](const Tensors& t) { return t[0].expand(wide); },
                [=](const Arrays& in) { return generate(wide, [&](const Shape& i) { return in[0].at(i); }); }};
  }));
  out.push_back(lines(
      "repeat", views::last, [](const Tensor& x, i64 axis) { return x.repeat(axis, 2); },
      [](const Line& l) { return joined(l, l); }));
  out.push_back(lines(
      "pad", views::last, [](const Tensor& x, i64 axis) { return x.pad(axis, 1, 2, 1); },
      [](const Line& l) {
        return joined(joined({1}, l), {1, 1});
      }));
  out.push_back(lines(
      "concat", views::middle,
      [](const Tensor& x, i64 axis) {
        return concat({x, x.flip(axis)}, axis);
      },
      [](const Line& l) { return joined(l, reversed(l)); }));
  out.push_back(view("stack", [](const Shape& shape) -> std::optional<View> {
    if (shape.size() > 4) return std::nullopt;
    const i64 axis = i64(shape.size() / 2);
    return View{[=](const Tensors& t) {
                  return stack({t[0], shape.empty() ? t[0] : t[0].flip(-1)}, axis);
                },
                [=](const Arrays& in) {
                  Shape both = shape;
                  both.insert(both.begin() + axis, 2);
                  const Array second = shape.empty() ? in[0] : along(in[0], -1, reversed);
                  return generate(both, [&](Shape i) {
                    const Array& from = i[size_t(axis)] ? second : in[0];
                    i.erase(i.begin() + axis);
                    return from.at(i);
                  });
                }};
  }));
  out.push_back(view("swap_halves", [](const Shape& shape) -> std::optional<View> {
    if (shape.empty() || shape.back() % 2 != 0) return std::nullopt;
    return View{[](const Tensors& t) { return swap_halves(t[0]); },
                [](const Arrays& in) {
                  return along(in[0], -1, [](Line l) {
                    std::rotate(l.begin(), l.begin() + i64(l.size() / 2), l.end());
                    return l;
                  });
                }};
  }));
  return out;
}

}  // namespace baretile::ops_test
