#include "compiler/fuse/page_map.h"

#include <cstdlib>

namespace baretile::compiler {

namespace {

// A digit's step in the coordinates of the stored tensor.
struct Step3 {
  u32 size = 1;
  i64 batch = 0, row = 0, col = 0;
};
using Steps = std::vector<Step3>;

// Splits a digit where it runs over the end of a row or a matrix; nothing if it does so at an odd place.
std::optional<Steps> located(Digit digit, const Extents& stored) {
  Steps steps;
  i64 sign = digit.stride < 0 ? -1 : 1;
  const i64 row_stride = stored.cols, batch_stride = stored.cols * stored.rows;
  while (digit.size > 1) {
    i64 stride = std::abs(digit.stride);
    bool in_row = stride < row_stride, in_matrix = stride < batch_stride;
    i64 unit = stride == 0 || in_row ? 1 : in_matrix ? row_stride : batch_stride;
    if (stride % unit != 0) return std::nullopt;
    i64 step = sign * (stride / unit);
    i64 boundary = in_row ? row_stride : batch_stride;
    u32 taken = digit.size;
    if (stride != 0 && in_matrix && boundary % stride == 0 && i64(digit.size) > boundary / stride) {
      taken = u32(boundary / stride);
      if (digit.size % taken != 0) return std::nullopt;
    }
    if (stride == 0) {
      steps.push_back({taken});
    } else {
      steps.push_back({taken, in_matrix ? 0 : step, in_row || !in_matrix ? 0 : step, in_row ? step : 0});
    }
    digit = {digit.size / taken, digit.stride * taken};
  }
  return steps;
}

// Lowest and highest value of a coordinate over all digits.
struct Range {
  i64 low, high;
  void add(u32 size, i64 step) { (step < 0 ? low : high) += (size - 1) * step; }
};

class Mapper {
 public:
  Mapper(const Stored& stored, i64 in_page_rows)
      : rows_(in_page_rows), grid_(page_grid(stored.extents, stored.tiling)) {}

  i64 pages(const Step3& step) const {
    return (step.batch * grid_.rows + step.row / rows_) * grid_.cols + step.col / 32;
  }
  bool whole_pages(const Step3& step) const { return step.col % 32 == 0 && step.row % rows_ == 0; }

  bool outer(const Steps& steps, size_t first, std::vector<Digit>& digits) const {
    for (size_t i = first; i < steps.size(); ++i) {
      if (!whole_pages(steps[i])) return false;
      append(digits, {steps[i].size, pages(steps[i])});
    }
    return true;
  }

  // The axis that runs inside a page: its first digit steps by one element and fills whole pages unless it is the only
  // one.
  bool inner(const Steps& steps, bool is_row, std::vector<Digit>& digits) const {
    if (steps.empty()) return true;
    const Step3& first = steps[0];
    Step3 unit = is_row ? Step3{first.size, 0, 1, 0} : Step3{first.size, 0, 0, 1};
    if (first.batch != unit.batch || first.row != unit.row || first.col != unit.col) return false;
    i64 page = is_row ? rows_ : 32;
    if (steps.size() > 1 && first.size % page != 0) return false;
    append(digits, {u32(ceil_div(first.size, u64(page))), is_row ? grid_.cols : 1});
    return outer(steps, 1, digits);
  }

 private:
  i64 rows_;
  Extents grid_;
};

bool repeated(const Steps& steps) {
  return steps.size() == 1 && steps[0].batch == 0 && steps[0].row == 0 && steps[0].col == 0;
}

// The first digit's end coincides with the page's or the matrix's.
bool ends_in_zeros(i64 seen, i64 first, i64 stored) { return seen % 32 == 0 || first + seen == stored; }

}  // namespace

std::optional<Access> page_access(const View& view, const Extents& seen, const Stored& stored, Needs needs) {
  const Extents& e = stored.extents;
  Steps axes[3];
  Step3 start{1, view.offset / (e.rows * e.cols), view.offset / e.cols % e.rows, view.offset % e.cols};
  Range rows{start.row, start.row}, cols{start.col, start.col};
  for (size_t axis = 0; axis < 3; ++axis) {
    for (Digit digit : view.axes[axis]) {
      auto steps = located(digit, e);
      if (!steps) return std::nullopt;
      for (const Step3& step : *steps) {
        rows.add(step.size, step.row);
        cols.add(step.size, step.col);
        axes[axis].push_back(step);
      }
    }
  }
  if (rows.low < 0 || rows.high >= e.rows || cols.low < 0 || cols.high >= e.cols) return std::nullopt;  // digits carry

  Mapper mapper(stored, page_rows(stored.tiling));
  if (!mapper.whole_pages(start)) return std::nullopt;
  bool one_row = seen.rows == 1;
  bool row_repeated = needs.broadcast && seen.rows > 1 && repeated(axes[1]);
  bool col_repeated = needs.broadcast && seen.cols > 1 && repeated(axes[2]);
  if (one_row || row_repeated) {
    if (e.rows != 1) return std::nullopt;  // other rows lie in the same page
  } else if (stored.tiling == Tiling::row) {
    return std::nullopt;
  }
  if (col_repeated && e.cols != 1) return std::nullopt;
  if (needs.zero_cols && !ends_in_zeros(seen.cols, start.col, e.cols)) return std::nullopt;
  if (needs.zero_rows && !ends_in_zeros(seen.rows, start.row, e.rows)) return std::nullopt;

  Access access;
  access.map.offset = mapper.pages(start);
  if (!mapper.outer(axes[0], 0, access.map.batch)) return std::nullopt;
  if (!row_repeated && !mapper.inner(axes[1], true, access.map.row)) return std::nullopt;
  if (!col_repeated && !mapper.inner(axes[2], false, access.map.col)) return std::nullopt;
  if (col_repeated && (row_repeated || one_row)) {
    access.broadcast = Broadcast::scalar;
  } else if (col_repeated) {
    access.broadcast = Broadcast::col;
  } else if (row_repeated) {
    access.broadcast = seen.cols == 1 ? Broadcast::scalar : Broadcast::row;
  }
  return access;
}

}  // namespace baretile::compiler
