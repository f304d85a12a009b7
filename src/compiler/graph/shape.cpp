#include "compiler/graph/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "baretile/error.h"

namespace baretile::compiler {

void check_extents(const char* op, const Shape& shape) {
  i64 count = 1;
  for (i64 extent : shape) {
    if (extent < 0) throw UsageError(fmt::format("{}: {} has an extent below 0; give 0 or more.", op, to_string(shape)));
    if (extent > i64{UINT32_MAX} / std::max<i64>(count, 1))
      throw UsageError(
          fmt::format("{}: {} has more than 2^32 - 1 elements; cut it into several tensors.", op, to_string(shape)));
    count *= extent;
  }
}

void check_stored(const char* op, const Shape& shape, DType dtype) {
  check_extents(op, shape);
  if (is_block(dtype) && extents(shape).rows == 1)
    throw Unsupported(fmt::format("{}: {} {} would be rows on their own, and {} has whole tiles only; keep it in bf16.",
                                  op, to_string(dtype), to_string(shape), to_string(dtype)));
}

size_t checked_axis(const char* op, const Shape& shape, i64 axis) {
  i64 rank = i64(shape.size());
  if (axis < -rank || axis >= rank) {
    throw UsageError(fmt::format("{}: {} has no axis {}; it has {} axes.", op, to_string(shape), axis, rank));
  }
  return size_t(axis < 0 ? axis + rank : axis);
}

Shape broadcast_shape(const char* op, const Shape& x, const Shape& y) {
  Shape out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    i64 a = i < x.size() ? x[x.size() - 1 - i] : 1, b = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) {
      throw UsageError(
          fmt::format("{}: shapes {} and {} do not broadcast; extents must agree or be 1, from the last axis.", op,
                      to_string(x), to_string(y)));
    }
    out[out.size() - 1 - i] = a == 1 ? b : a;
  }
  return out;
}

void complete_reshape(const Shape& from, Shape& wanted) {
  i64 count = element_count(from), known = 1;
  i64* unknown = nullptr;
  for (i64& extent : wanted) {
    if (extent == -1 && !unknown) {
      unknown = &extent;
    } else {
      known *= extent;
    }
  }
  if (unknown && known > 0 && count % known == 0) *unknown = count / known;
  if (std::any_of(wanted.begin(), wanted.end(), [](i64 extent) { return extent < 0; }) ||
      element_count(wanted) != count) {
    throw UsageError(
        fmt::format("reshape: {} has {} elements and cannot become {}.", to_string(from), count, to_string(wanted)));
  }
}

Shape permuted_shape(const Shape& shape, const std::vector<i64>& axes) {
  Shape out;
  std::vector<bool> seen(shape.size());
  for (i64 axis : axes) {
    if (axis < 0 || axis >= i64(shape.size()) || seen[size_t(axis)]) break;
    seen[size_t(axis)] = true;
    out.push_back(shape[size_t(axis)]);
  }
  if (out.size() != shape.size() || axes.size() != shape.size()) {
    throw UsageError(fmt::format("permute: {} is no order of the axes of {}.", to_string(axes), to_string(shape)));
  }
  return out;
}

Shape aligned_for_expand(const Shape& shape, const Shape& wanted) {
  check_extents("expand", wanted);
  Shape aligned = shape;
  if (shape.size() < wanted.size()) aligned.insert(aligned.begin(), wanted.size() - shape.size(), 1);
  bool fits = aligned.size() == wanted.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i) fits = aligned[i] == wanted[i] || aligned[i] == 1;
  if (!fits)
    throw UsageError(
        fmt::format("expand: {} does not repeat into {}; only extents of 1 do.", to_string(shape), to_string(wanted)));
  return aligned;
}

MatmulShapes matmul_shapes(const Shape& x, const Shape& y) {
  if (x.size() < 2 || y.size() < 2) {
    throw UsageError(fmt::format("matmul: {} by {}: a number has no axis to multiply along; use mul.", to_string(x),
                                 to_string(y)));
  }
  const i64 m = x[x.size() - 2], k = x.back(), n = y.back();
  if (k != y[y.size() - 2]) {
    throw UsageError(fmt::format("matmul: {} by {}: {} columns on the left meet {} rows on the right; they must agree.",
                                 to_string(x), to_string(y), k, y[y.size() - 2]));
  }
  Shape batch = broadcast_shape("matmul", Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2));
  MatmulShapes s{batch, batch, batch};
  s.left.insert(s.left.end(), {m, k});
  s.right.insert(s.right.end(), {k, n});
  s.out.insert(s.out.end(), {m, n});
  return s;
}

namespace {

void check_index(const char* op, const Shape& index, DType dtype) {
  if (index.size() != 1 || dtype != DType::int32) {
    throw UsageError(
        fmt::format("{}: the index is {} {}; give int32 of one axis.", op, to_string(dtype), to_string(index)));
  }
}

}  // namespace

Shape gather_shape(const Shape& table, const Shape& index, DType index_dtype) {
  check_index("gather_rows", index, index_dtype);
  if (table.size() != 2)
    throw UsageError(fmt::format("gather_rows: the table is {}; give two axes.", to_string(table)));
  if (table[0] == 0 && index[0] > 0)
    throw UsageError(fmt::format("gather_rows: {} rows of a table {} that has none.", index[0], to_string(table)));
  return {index[0], table[1]};
}

void check_scatter(const Shape& target, const Shape& values, const Shape& index, DType index_dtype) {
  check_index("assign_rows", index, index_dtype);
  Shape expected = target;
  if (target.size() >= 2) expected[target.size() - 2] = index[0];
  if (target.size() < 2 || values != expected) {
    throw UsageError(fmt::format("assign_rows: {} into rows of {} by {} indices; the values must be {}.",
                                 to_string(values), to_string(target), index[0], to_string(expected)));
  }
}

}  // namespace baretile::compiler
