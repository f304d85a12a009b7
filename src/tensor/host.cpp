// Values between host and device, a few pages at a time: weights must not exist twice.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"
#include "tensor/format.h"

namespace baretile {

namespace {

constexpr u64 kChunkBytes = 1 << 20;

std::shared_ptr<Expr> stored(Runtime& runtime, Shape shape, DType dtype) {
  compiler::check_stored("tensor", shape, dtype);
  if (compiler::element_count(shape) == 0) return filled(&runtime, std::move(shape), 0, dtype).expr();
  auto expr = std::make_shared<Expr>();
  PageFormat format(shape, dtype);
  expr->node = {compiler::Op::external, dtype, std::move(shape), {}, {}, 0};
  expr->place(&runtime);
  expr->storage = runtime.allocate(format.page_bytes(), format.pages(), format.run_pages());
  return expr;
}

// Calls chunk(first page, bytes) for all pages in order.
template <typename Chunk>
void for_chunks(const PageFormat& format, Chunk chunk) {
  const u64 at_once = std::max<u64>(1, kChunkBytes / format.page_bytes()), pages = format.pages();
  std::vector<std::byte> bytes(std::min(at_once, pages) * format.page_bytes());
  for (u64 page = 0; page < pages; page += at_once) {
    chunk(page, std::span(bytes).first(std::min(at_once, pages - page) * format.page_bytes()));
  }
}

template <typename Value, typename Encode>
Tensor upload(Runtime& runtime, std::span<const Value> values, Shape shape, DType dtype, Encode encode) {
  compiler::check_extents("tensor", shape);
  if (i64(values.size()) != compiler::element_count(shape)) {
    throw UsageError(fmt::format("tensor: {} values for shape {}, which has {} elements.", values.size(),
                                 compiler::to_string(shape), compiler::element_count(shape)));
  }
  auto expr = stored(runtime, std::move(shape), dtype);
  PageFormat format(expr->node.shape, dtype);
  for_chunks(format, [&](u64 page, std::span<std::byte> bytes) {
    encode(format, page, bytes);
    runtime.write_pages(expr->storage, page, bytes);
  });
  return Tensor(std::move(expr));
}

template <typename Value>
Tensor upload(Runtime& runtime, std::span<const Value> values, Shape shape, DType dtype) {
  return upload(
      runtime, values, std::move(shape), dtype,
      [&](const PageFormat& format, u64 page, std::span<std::byte> bytes) { format.encode(values, page, bytes); });
}

template <typename Value>
void read_pages(Tensor tensor, std::span<Value> values) {
  tensor.realize();
  const Expr& expr = *tensor.expr();
  PageFormat format(expr.node.shape, expr.node.dtype);
  for_chunks(format, [&](u64 page, std::span<std::byte> bytes) {
    expr.runtime()->read_pages(expr.storage, page, bytes);
    format.decode(bytes, page, values);
  });
}

template <typename Value>
std::vector<Value> download(const Tensor& tensor) {
  std::vector<Value> values(size_t(compiler::element_count(tensor.shape())));
  read_pages(tensor, std::span(values));
  return values;
}

// Extents of nested lists, all of one length at each depth; appends their numbers.
void flatten(const Tensor::Nested& nested, size_t depth, Shape& shape, std::vector<double>& values) {
  if (!nested.is_list) {
    if (depth != shape.size())
      throw UsageError("tensor: a number stands where a list of others stands; nest all rows equally deep.");
    values.push_back(nested.value);
    return;
  }
  if (depth == shape.size() && values.empty()) shape.resize(depth + 1, i64(nested.rows.size()));
  if (depth >= shape.size() || i64(nested.rows.size()) != shape[depth]) {
    throw UsageError(fmt::format("tensor: a list has {} elements where another has {}; all rows must be equally long.",
                                 nested.rows.size(), depth < shape.size() ? shape[depth] : 0));
  }
  for (const Tensor::Nested& row : nested.rows) flatten(row, depth + 1, shape, values);
}

}  // namespace

Tensor Tensor::of(Runtime& runtime, std::initializer_list<Nested> rows, DType dtype) {
  Shape shape;
  std::vector<double> values;
  flatten(Nested(rows), 0, shape, values);
  if (!is_integer(dtype)) return from_host(runtime, std::vector<float>(values.begin(), values.end()), shape, dtype);
  const double least = dtype == DType::int32 ? INT32_MIN : 0, most = dtype == DType::int32 ? INT32_MAX : UINT32_MAX;
  for (double value : values) {
    if (!(value >= least && value <= most && std::trunc(value) == value))
      throw UsageError(
          fmt::format("tensor: {} is no {}; give whole numbers, or another dtype.", value, compiler::to_string(dtype)));
  }
  if (dtype == DType::uint32) return from_host(runtime, std::vector<u32>(values.begin(), values.end()), shape);
  return from_host(runtime, std::vector<i32>(values.begin(), values.end()), shape);
}

Tensor Tensor::from_host(Runtime& runtime, std::span<const float> values, Shape shape, DType dtype) {
  if (is_integer(dtype))
    throw UsageError(
        fmt::format("tensor: floats for a tensor of {}; give values of that type.", compiler::to_string(dtype)));
  if (dtype != DType::boolean) return upload(runtime, values, std::move(shape), dtype);
  std::vector<float> truth(values.size());
  std::transform(values.begin(), values.end(), truth.begin(), [](float v) { return float(v != 0); });
  return upload(runtime, std::span<const float>(truth), std::move(shape), dtype);
}

Tensor Tensor::from_host(Runtime& runtime, std::span<const i32> values, Shape shape) {
  return upload(runtime, values, std::move(shape), DType::int32);
}

Tensor Tensor::from_host(Runtime& runtime, std::span<const u32> values, Shape shape) {
  return upload(runtime, values, std::move(shape), DType::uint32);
}

Tensor Tensor::from_host(Runtime& runtime, std::span<const bool> values, Shape shape) {
  return from_host(runtime, std::vector<float>(values.begin(), values.end()), std::move(shape), DType::boolean);
}

Tensor Tensor::from_host_bf16(Runtime& runtime, std::span<const u16> bits, Shape shape) {
  return upload(
      runtime, bits, std::move(shape), DType::bf16,
      [&](const PageFormat& format, u64 page, std::span<std::byte> bytes) { format.encode_bf16(bits, page, bytes); });
}

Tensor Tensor::zeros(Runtime& runtime, Shape shape, DType dtype) {
  auto expr = stored(runtime, std::move(shape), dtype);
  for_chunks(PageFormat(expr->node.shape, dtype),
             [&](u64 page, std::span<std::byte> bytes) { runtime.write_pages(expr->storage, page, bytes); });
  return Tensor(std::move(expr));
}

namespace {

void check_dtype(const char* call, const Tensor& tensor, bool fits) {
  if (!fits)
    throw UsageError(fmt::format("{}: {} is {}; use to_host for floats and booleans, to_host_int32 and to_host_uint32.",
                                 call, compiler::to_string(tensor.shape()), compiler::to_string(tensor.dtype())));
}

}  // namespace

void download(const Tensor& tensor, std::span<float> values) { read_pages(tensor, values); }
void download(const Tensor& tensor, std::span<i32> values) { read_pages(tensor, values); }
void download(const Tensor& tensor, std::span<u32> values) { read_pages(tensor, values); }

std::vector<float> Tensor::to_host() const {
  check_dtype("to_host", *this, !is_integer(dtype()));
  return download<float>(*this);
}

std::vector<i32> Tensor::to_host_int32() const {
  check_dtype("to_host_int32", *this, dtype() == DType::int32);
  return download<i32>(*this);
}

std::vector<u32> Tensor::to_host_uint32() const {
  check_dtype("to_host_uint32", *this, dtype() == DType::uint32);
  return download<u32>(*this);
}

}  // namespace baretile
