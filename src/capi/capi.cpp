// The C interface over tensors: devices, values, operations, gradients.
#include "baretile/capi.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "baretile/random.h"
#include "capi/functions.h"
#include "capi/handles.h"
#include "compiler/graph/shape.h"
#include "tensor/expr.h"

using namespace baretile::capi;
using baretile::DefaultPrecision;
using baretile::DType;
using baretile::Precision;
using baretile::Runtime;
using baretile::Tensor;
using baretile::UsageError;

static_assert(int(DType::boolean) == BT_BOOLEAN && int(DType::uint32) == BT_UINT32 && int(DType::int32) == BT_INT32 &&
              int(DType::bfp4) == BT_BFP4 && int(DType::bfp8) == BT_BFP8 && int(DType::bf16) == BT_BF16 &&
              int(DType::fp32) == BT_FP32);
static_assert(int(Precision::fast) == BT_FAST && int(Precision::standard) == BT_STANDARD &&
              int(Precision::full) == BT_FULL);

namespace {

thread_local std::string text;
thread_local std::optional<DefaultPrecision> precision;

// A call that makes a tensor on a device: result = body(device).
template <typename Body>
bt_status make(bt_runtime* runtime, bt_tensor** result, Body body) noexcept {
  return guarded([&] {
    const Owner& owner = needed(runtime, "runtime").runtime;
    give(result, owner, body(*owner));
  });
}

baretile::Shape shape_of(const int64_t* extents, size_t rank) {
  if (rank > 0) needed(extents, "shape");
  baretile::Shape shape(extents, extents + rank);
  baretile::compiler::check_extents("tensor", shape);
  return shape;
}

template <typename T>
std::span<const T> values_at(const void* values, size_t count) {
  return {static_cast<const T*>(values), count};
}

Tensor from_host(Runtime& runtime, const void* values, bt_dtype given, baretile::Shape shape, bt_dtype wanted) {
  const DType dtype = dtype_of(wanted), from = dtype_of(given);
  const size_t count = size_t(baretile::compiler::element_count(shape));
  if (count > 0) needed(static_cast<const char*>(values), "values");
  if (from == DType::fp32 && is_float(dtype))
    return Tensor::from_host(runtime, values_at<float>(values, count), std::move(shape), dtype);
  if (from != dtype || is_block(from))
    throw UsageError(
        fmt::format("values of dtype {} for a tensor of {}; give BT_FP32 for float tensors, else the tensor's own",
                    baretile::compiler::to_string(from), baretile::compiler::to_string(dtype)));
  if (dtype == DType::bf16)
    return Tensor::from_host_bf16(runtime, values_at<uint16_t>(values, count), std::move(shape));
  if (dtype == DType::int32) return Tensor::from_host(runtime, values_at<int32_t>(values, count), std::move(shape));
  if (dtype == DType::uint32) return Tensor::from_host(runtime, values_at<uint32_t>(values, count), std::move(shape));
  const auto bytes = values_at<uint8_t>(values, count);
  return Tensor::from_host(runtime, std::vector<float>(bytes.begin(), bytes.end()), std::move(shape), dtype);
}

void to_host(const Tensor& tensor, void* values, size_t bytes) {
  const DType dtype = tensor.dtype();
  const size_t count = size_t(baretile::compiler::element_count(tensor.shape()));
  const size_t wanted = count * (dtype == DType::boolean ? 1 : 4);
  if (bytes != wanted)
    throw UsageError(fmt::format("{} bytes for the values of {} {}, which are {} bytes", bytes,
                                 baretile::compiler::to_string(dtype), baretile::compiler::to_string(tensor.shape()),
                                 wanted));
  if (count == 0) return;
  needed(static_cast<char*>(values), "values");
  if (dtype == DType::int32) return download(tensor, std::span(static_cast<int32_t*>(values), count));
  if (dtype == DType::uint32) return download(tensor, std::span(static_cast<uint32_t*>(values), count));
  if (dtype != DType::boolean) return download(tensor, std::span(static_cast<float*>(values), count));
  const std::vector<float> truth = tensor.to_host();
  std::transform(truth.begin(), truth.end(), static_cast<uint8_t*>(values), [](float v) { return uint8_t(v != 0); });
}

Tensor random_tensor(const std::string& distribution, const Tensor& key, const baretile::Shape& shape, int64_t low,
                     int64_t high) {
  if (distribution == "uniform") return baretile::random::uniform(key, shape);
  if (distribution == "normal") return baretile::random::normal(key, shape);
  if (distribution == "bits") return baretile::random::bits(key, shape);
  if (distribution == "randint") return baretile::random::randint(key, shape, low, high);
  throw UsageError(fmt::format("'{}' is no distribution; there are uniform, normal, bits and randint", distribution));
}

}  // namespace

const char* bt_version() { return BARETILE_VERSION; }
const char* bt_status_name(bt_status status) {
  static constexpr const char* kNames[] = {"OK",           "UsageError", "Unsupported", "SystemError",  "DeviceError",
                                           "CompileError", "SimFault",   "OutOfMemory", "InternalError"};
  return size_t(status) < std::size(kNames) ? kNames[status] : "unknown";
}

bt_status bt_open(const char* device, bt_runtime** runtime) {
  return guarded([&] {
    bt_runtime*& place = needed(runtime, "the pointer for the result");
    place = new bt_runtime{std::make_shared<Runtime>(std::string(device ? device : ""))};
  });
}
void bt_close(bt_runtime* runtime) {
  const std::lock_guard turn(turns);
  delete runtime;
}
const char* bt_device(const bt_runtime* runtime) { return runtime->runtime->device().name.c_str(); }
uint32_t bt_workers(const bt_runtime* runtime) { return runtime->runtime->workers(); }

bt_status bt_from_host(bt_runtime* runtime, const void* values, bt_dtype values_dtype, const int64_t* shape,
                       size_t rank, bt_dtype dtype, bt_tensor** result) {
  return make(runtime, result,
              [&](Runtime& rt) { return from_host(rt, values, values_dtype, shape_of(shape, rank), dtype); });
}

bt_status bt_full(bt_runtime* runtime, const int64_t* shape, size_t rank, double value, bt_dtype dtype,
                  bt_tensor** result) {
  return make(runtime, result,
              [&](Runtime& rt) { return Tensor::full(rt, shape_of(shape, rank), value, dtype_of(dtype)); });
}

bt_status bt_arange(bt_runtime* runtime, double first, double end, double step, bt_dtype dtype, bt_tensor** result) {
  return make(runtime, result, [&](Runtime& rt) { return Tensor::arange(rt, first, end, step, dtype_of(dtype)); });
}

bt_status bt_number(double value, bt_tensor** result) {
  return guarded([&] { give(result, nullptr, Tensor(value)); });
}

bt_status bt_random_key(bt_runtime* runtime, uint64_t seed, bt_tensor** result) {
  return make(runtime, result, [&](Runtime& rt) { return baretile::random::key(rt, seed); });
}

bt_status bt_random(const char* distribution, const bt_tensor* key, const int64_t* shape, size_t rank, int64_t low,
                    int64_t high, bt_tensor** result) {
  return guarded([&] {
    const bt_tensor& from = needed(key, "key");
    give(result, from.runtime,
         random_tensor(&needed(distribution, "distribution"), from.tensor, shape_of(shape, rank), low, high));
  });
}

bt_status bt_copy(const bt_tensor* tensor, bt_tensor** result) {
  return guarded([&] { give(result, needed(tensor, "tensor").runtime, tensor->tensor); });
}

bt_status bt_set(bt_tensor* tensor, const bt_tensor* value) {
  return guarded([&] { needed(tensor, "tensor") = needed(value, "value"); });
}

void bt_free(bt_tensor* tensor) {
  const std::lock_guard turn(turns);
  delete tensor;
}

size_t bt_rank(const bt_tensor* tensor) { return tensor->tensor.rank(); }
const int64_t* bt_shape(const bt_tensor* tensor) { return tensor->tensor.shape().data(); }
bt_dtype bt_dtype_of(const bt_tensor* tensor) { return bt_dtype(tensor->tensor.dtype()); }

bt_status bt_to_host(const bt_tensor* tensor, void* values, size_t bytes) {
  return guarded([&] { to_host(needed(tensor, "tensor").tensor, values, bytes); });
}

bt_status bt_realize(const bt_tensor* const* tensors, size_t count) {
  return guarded([&] {
    const Operands all(tensors, count);
    all.need_all();
    baretile::realize(all.tensors);
  });
}

bt_status bt_text(const bt_tensor* tensor, const char** result) {
  return guarded([&] {
    text = to_string(needed(tensor, "tensor").tensor);
    needed(result, "the pointer for the result") = text.c_str();
  });
}

const bt_op* bt_op_by_name(const char* name) {
  const auto& all = baretile::capi::operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const bt_op& op) { return name && op.name == name; });
  return found == all.end() ? nullptr : &*found;
}
const bt_op* bt_op_at(size_t index) {
  const auto& all = baretile::capi::operations();
  return index < all.size() ? &all[index] : nullptr;
}
const char* bt_op_signature(const bt_op* op) { return op->row->signature; }
const char* bt_op_doc(const bt_op* op) { return op->row->doc; }

bt_status bt_apply(const bt_op* op, const bt_tensor* const* tensors, size_t tensor_count, const double* numbers,
                   size_t number_count, bt_tensor** result) {
  return guarded([&] {
    if (!op)
      throw UsageError("bt_apply: no operation; bt_op_by_name gives NULL for a name that bt_op_at does not list");
    if (number_count > 0) needed(numbers, "numbers");
    Operands all(tensors, tensor_count);
    give(result, all.owner,
         baretile::capi::apply(*op, std::move(all.tensors), std::vector<double>(numbers, numbers + number_count)));
  });
}

bt_status bt_set_precision(int value, int* before) {
  return guarded([&] {
    if (value < BT_FAST || value > BT_FULL)
      throw UsageError(fmt::format("{} is no precision; give BT_FAST, BT_STANDARD or BT_FULL", value));
    if (before) *before = int(DefaultPrecision::now());
    precision.reset();  // it would give back what was before it
    precision.emplace(Precision(value));
  });
}

bt_status bt_einsum(const char* formula, const bt_tensor* const* tensors, size_t count, bt_tensor** result) {
  return guarded([&] {
    const Operands all(tensors, count);
    all.need_all();
    give(result, all.owner, baretile::einsum(&needed(formula, "formula"), all.tensors));
  });
}

bt_status bt_topk(const bt_tensor* tensor, int64_t count, bt_tensor** values, bt_tensor** indices) {
  return guarded([&] {
    const bt_tensor& x = needed(tensor, "tensor");
    needed(values, "the pointer for the values");
    baretile::TopK best = baretile::topk(x.tensor, count);
    auto first = std::make_unique<bt_tensor>(bt_tensor{x.runtime, std::move(best.values)});
    give(indices, x.runtime, std::move(best.indices));
    *values = first.release();
  });
}

bt_status bt_assign(bt_tensor* tensor, int64_t axis, int64_t first, const bt_tensor* values) {
  return guarded([&] { needed(tensor, "tensor").tensor.assign(axis, first, needed(values, "values").tensor); });
}

bt_status bt_grad(const bt_tensor* loss, const bt_tensor* const* wrt, size_t count, bt_tensor** gradients) {
  return guarded([&] {
    const bt_tensor& of = needed(loss, "loss");
    const Operands all(wrt, count);
    all.need_all();
    give_all(gradients, of.runtime, baretile::grad(of.tensor, all.tensors));
  });
}
