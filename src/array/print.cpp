// A tensor as text, in NumPy's way: nested lists, on one line if it holds them, else a row a line with aligned columns.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <ostream>
#include <set>

#include "tensor/expr.h"
#include "tensor/format.h"

namespace baretile {

namespace {

constexpr size_t kColumns = 100;
constexpr i64 kThreshold = 1000, kEdge = 3;  // elements shown in full; of longer axes, shown at either end

template <class Value>
std::string text_of(Value value) {
  if constexpr (std::is_integral_v<Value>) {
    return fmt::format("{}", value);
  } else {
    return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);  // without a sign
  }
}
std::string text_of_boolean(float value) { return value != 0 ? "true" : "false"; }

class Printer {
 public:
  Printer(const Shape& shape, std::function<std::string(size_t)> text) : shape_(shape), text_(std::move(text)) {
    for (const i64 extent : shape) count_ *= extent;
  }

  std::string print() {
    if (count_ == 0) return "[]";
    show(0, 0);
    if (shape_.empty() || out_.size() <= kColumns) return out_;
    broken_ = true;
    out_.clear();
    show(0, 0);
    return out_;
  }

 private:
  static size_t whole_of(const std::string& text) { return std::min(text.find_first_of(".e"), text.size()); }

  void show(size_t axis, i64 element) {
    if (axis == shape_.size()) return show_element(size_t(element));
    out_ += '[';
    const i64 extent = shape_[axis], skip = count_ > kThreshold && extent > 2 * kEdge ? extent - 2 * kEdge : 0;
    for (i64 i = 0; i < extent; ++i) {
      if (i > 0) separate(axis);
      if (skip && i == kEdge) {
        show_text(axis, "...");
        i += skip - 1;
      } else {
        show(axis + 1, element * extent + i);
      }
    }
    out_ += ']';
  }

  // Matrices stand apart by an empty line, cubes by two.
  void separate(size_t axis) {
    const bool breaks = broken_ && axis + 1 < shape_.size();
    out_ += breaks ? "," + std::string(shape_.size() - 1 - axis, '\n') + std::string(axis + 1, ' ') : ", ";
  }

  void show_element(size_t element) {
    std::string text = text_(element);
    const size_t whole = whole_of(text), part = text.size() - whole;
    if (broken_) {
      text.insert(0, whole_ - whole, ' ');
      text.append(part_ - part, ' ');
    } else {
      whole_ = std::max(whole_, whole);
      part_ = std::max(part_, part);
    }
    show_text(shape_.size() - 1, text);
  }

  // Long rows go on below their first element.
  void show_text(size_t axis, const std::string& text) {
    const size_t line = out_.rfind('\n') + 1;  // 0 where there is none
    if (broken_ && axis + 1 == shape_.size() && out_.size() - line + text.size() + 1 > kColumns && out_.back() == ' ') {
      out_.back() = '\n';
      out_ += std::string(axis + 1, ' ');
    }
    out_ += text;
  }

  const Shape& shape_;
  std::function<std::string(size_t)> text_;
  i64 count_ = 1;
  bool broken_ = false;
  size_t whole_ = 0, part_ = 0;  // columns before the point, and from it on
  std::string out_;
};

// Values of a realized tensor, read page by page as they are asked for.
template <class Value>
class Pages {
 public:
  explicit Pages(const Tensor& tensor)
      : expr_(*tensor.expr()),
        format_(tensor.shape(), tensor.dtype()),
        bytes_(format_.page_bytes()),
        values_(size_t(compiler::element_count(tensor.shape()))) {}

  Value at(size_t element) {
    const compiler::Extents &e = format_.extents, grid = compiler::page_grid(e, format_.tiling);
    const i64 n = i64(element), row = n / e.cols % e.rows, matrix = n / (e.cols * e.rows);
    const i64 page = (matrix * grid.rows + row / compiler::page_rows(format_.tiling)) * grid.cols + n % e.cols / 32;
    if (read_.insert(page).second) {
      expr_.runtime()->read_pages(expr_.storage, u64(page), bytes_);
      format_.decode(bytes_, u64(page), std::span<Value>(values_));
    }
    return values_[element];
  }

 private:
  const Expr& expr_;
  PageFormat format_;
  std::vector<std::byte> bytes_;
  std::vector<Value> values_;
  std::set<i64> read_;
};

template <class Value>
std::string printed(Tensor tensor, std::vector<Value> (Tensor::*to_host)() const, std::string (*text)(Value)) {
  if (compiler::element_count(tensor.shape()) > kThreshold) {
    Pages<Value> pages(tensor.realize());
    return Printer(tensor.shape(), [&](size_t n) { return text(pages.at(n)); }).print();
  }
  const std::vector<Value> values = (tensor.*to_host)();
  return Printer(tensor.shape(), [&](size_t n) { return text(values[n]); }).print();
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  const bool boolean = tensor.dtype() == DType::boolean;
  if (tensor.dtype() == DType::int32) return printed(tensor, &Tensor::to_host_int32, text_of<i32>);
  if (tensor.dtype() == DType::uint32) return printed(tensor, &Tensor::to_host_uint32, text_of<u32>);
  return printed(tensor, &Tensor::to_host, boolean ? text_of_boolean : text_of<float>);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace baretile
