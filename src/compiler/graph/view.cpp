#include "compiler/graph/view.h"

#include <algorithm>
#include <utility>

namespace baretile::compiler {

namespace {

using Digits = std::vector<Digit>;

// `count` indices from `first` of one axis; moves `offset` to the first.
std::optional<Digits> sliced(const Digits& axis, i64 first, i64 count, i64& offset) {
  i64 inner = 1;
  Digits below;
  for (size_t i = 0; i < axis.size(); ++i) {
    i64 next = inner * axis[i].size;
    bool last = i + 1 == axis.size();
    if (first % inner == 0 && count % inner == 0 && (last || first % next + count <= next)) {
      append(below, {u32(count / inner), axis[i].stride});
      offset += first / inner % axis[i].size * axis[i].stride;
      for (size_t above = i + 1; above < axis.size(); ++above) {
        inner *= axis[above - 1].size;
        offset += first / inner % axis[above].size * axis[above].stride;
      }
      return below;
    }
    if (first % inner != 0 || count % inner != 0) return std::nullopt;
    append(below, axis[i]);
    inner = next;
  }
  return below;
}

std::optional<View> sliced(const Node& node, View view) {
  for (size_t axis = 0; axis < view.axes.size(); ++axis) {
    if (view.axes[axis].empty()) continue;
    auto digits = sliced(view.axes[axis], node.attrs[axis], node.shape[axis], view.offset);
    if (!digits) return std::nullopt;
    view.axes[axis] = *digits;
  }
  return view;
}

View flipped(View view, size_t axis) {
  for (Digit& digit : view.axes[axis]) {
    view.offset += (digit.size - 1) * digit.stride;
    digit.stride = -digit.stride;
  }
  return view;
}

std::optional<View> strided(View view, size_t axis, i64 step) {
  Digits& digits = view.axes[axis];
  if (digits.empty()) return view;
  if (digits.size() > 1 && digits[0].size % step != 0) return std::nullopt;
  const Digits old = std::exchange(digits, {});
  append(digits, {u32(ceil_div(u64(old[0].size), u64(step))), old[0].stride * step});
  for (size_t i = 1; i < old.size(); ++i) append(digits, old[i]);
  return view;
}

View expanded(const Shape& shape, View view) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (view.axes[axis].empty() && shape[axis] > 1) view.axes[axis] = {{u32(shape[axis]), 0}};
  }
  return view;
}

}  // namespace

void append(std::vector<Digit>& digits, Digit next) {
  if (next.size == 1) return;
  if (!digits.empty() && next.stride == digits.back().stride * i64(digits.back().size)) {
    digits.back().size *= next.size;
  } else {
    digits.push_back(next);
  }
}

bool View::operator==(const View& other) const {
  auto same = [](Digit a, Digit b) { return a.size == b.size && a.stride == b.stride; };
  return offset == other.offset && std::ranges::equal(axes, other.axes, [&](const Digits& a, const Digits& b) {
           return std::ranges::equal(a, b, same);
         });
}

View contiguous(const Shape& shape) {
  View view;
  view.axes.resize(shape.size());
  i64 stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
    append(view.axes[axis], {u32(shape[axis]), stride});
  return view;
}

std::optional<View> reshaped(const View& input, const Shape& shape) {
  Digits stream;  // all axes as one, innermost first
  for (size_t axis = input.axes.size(); axis-- > 0;) {
    for (Digit digit : input.axes[axis]) append(stream, digit);
  }
  View view;
  view.offset = input.offset;
  view.axes.resize(shape.size());
  size_t at = 0;
  for (size_t axis = shape.size(); axis-- > 0;) {
    for (i64 wanted = shape[axis]; wanted > 1;) {
      Digit& digit = stream[at];
      i64 taken = std::min<i64>(wanted, digit.size);
      if (wanted % taken != 0 || digit.size % taken != 0) return std::nullopt;
      append(view.axes[axis], {u32(taken), digit.stride});
      wanted /= taken;
      digit = {u32(digit.size / taken), digit.stride * taken};
      if (digit.size == 1) ++at;
    }
  }
  return view;
}

std::optional<View> apply(const Node& node, const View& input) {
  switch (node.op) {
    case Op::reshape:
      return reshaped(input, node.shape);
    case Op::slice:
      return sliced(node, input);
    case Op::cast:  // from a block format
      return input;
    case Op::flip:
      return flipped(input, size_t(node.attrs[0]));
    case Op::expand:
      return expanded(node.shape, input);
    case Op::stride:
      return strided(input, size_t(node.attrs[0]), node.attrs[1]);
    case Op::permute: {
      View view{input.offset, {}};
      for (i64 axis : node.attrs) view.axes.push_back(input.axes[size_t(axis)]);
      return view;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace baretile::compiler
