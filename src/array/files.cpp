// Tensors to and from files: what lies in them as bytes is the business of files/.
#include "baretile/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "files/mapped_file.h"
#include "files/new_file.h"
#include "files/npy.h"
#include "files/safetensors.h"
#include "files/zip.h"
#include "tensor/expr.h"
#include "tensor/format.h"

namespace baretile {

namespace {

using Bytes = std::span<const std::byte>;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const Bytes bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Shape shape_of(const std::vector<u64>& shape, const std::string& where) {
  Shape out;
  for (const u64 extent : shape) {
    if (extent > UINT32_MAX) throw UsageError(fmt::format("{}: an extent of {} is beyond 2^32 - 1", where, extent));
    out.push_back(i64(extent));
  }
  return out;
}

// The elements of an array in row-major order, each through `convert`.
template <class From, class To, class Convert>
std::vector<To> elements(const NpyArray& array, Convert convert) {
  std::vector<To> out(array.elements());
  const size_t rank = array.shape.size();
  std::vector<u64> index(rank, 0);
  for (u64 n = 0; n < out.size(); ++n) {
    u64 at = n;
    if (array.fortran_order) {
      at = 0;
      for (size_t axis = rank; axis-- > 0;) at = at * array.shape[axis] + index[axis];
      for (size_t axis = rank; axis-- > 0 && ++index[axis] == array.shape[axis];) index[axis] = 0;
    }
    From value;
    std::memcpy(&value, array.data.data() + at * sizeof value, sizeof value);
    out[n] = convert(value);
  }
  return out;
}

template <class From, class To>
Tensor whole_numbers(Runtime& runtime, const NpyArray& array, Shape shape, const std::string& where) {
  using Limits = std::numeric_limits<To>;
  const auto convert = [&](From value) {
    const bool fits = std::is_floating_point_v<From> ? double(value) >= double(Limits::min()) &&
                                                           double(value) <= double(Limits::max()) &&
                                                           std::trunc(double(value)) == double(value)
                                                     : std::in_range<To>(i64(value)) &&
                                                           (std::is_signed_v<From> || u64(value) <= u64(Limits::max()));
    if (!fits)
      throw UsageError(
          fmt::format("{}: {} is no {}; load it as fp32", where, value, std::is_signed_v<To> ? "int32" : "uint32"));
    return To(value);
  };
  const std::vector<To> values = elements<From, To>(array, convert);
  return Tensor::from_host(runtime, std::span<const To>(values), std::move(shape));
}

template <class From>
Tensor converted(Runtime& runtime, const NpyArray& array, DType dtype, const std::string& where) {
  Shape shape = shape_of(array.shape, where);
  if (dtype == DType::int32) return whole_numbers<From, i32>(runtime, array, std::move(shape), where);
  if (dtype == DType::uint32) return whole_numbers<From, u32>(runtime, array, std::move(shape), where);
  const std::vector<float> values =
      elements<From, float>(array, [&](From v) { return dtype == DType::boolean ? float(v != 0) : float(v); });
  return Tensor::from_host(runtime, std::span<const float>(values), std::move(shape), dtype);
}

// float16 as the floats that they are.
Tensor converted_half(Runtime& runtime, NpyArray array, DType dtype, const std::string& where) {
  std::vector<float> values(array.data.size() / 2);
  read_rows({StoredType::f16, {values.size()}, array.data}, 0, values);
  array.data = std::as_bytes(std::span(values));
  return converted<float>(runtime, array, dtype, where);
}

Tensor tensor_of(Runtime& runtime, const NpyArray& array, std::optional<DType> as, const std::string& where) {
  const std::string& type = array.type;
  const std::optional<DType> natural = type == "<f4" || type == "<f2" ? std::optional(DType::fp32)
                                       : type == "<i4"                ? std::optional(DType::int32)
                                       : type == "<u4"                ? std::optional(DType::uint32)
                                       : type == "|b1"                ? std::optional(DType::boolean)
                                                                      : std::nullopt;
  if (!natural && !as)
    throw UsageError(fmt::format("{}: no tensor is of type '{}'; name the dtype that it shall become", where, type));
  const DType dtype = as.value_or(natural.value_or(DType::fp32));
  if (type == "<f2") return converted_half(runtime, array, dtype, where);
  if (type == "<f4") return converted<float>(runtime, array, dtype, where);
  if (type == "<f8") return converted<double>(runtime, array, dtype, where);
  if (type == "|i1") return converted<int8_t>(runtime, array, dtype, where);
  if (type == "<i2") return converted<int16_t>(runtime, array, dtype, where);
  if (type == "<i4") return converted<i32>(runtime, array, dtype, where);
  if (type == "<i8") return converted<i64>(runtime, array, dtype, where);
  if (type == "<u2") return converted<u16>(runtime, array, dtype, where);
  if (type == "<u4") return converted<u32>(runtime, array, dtype, where);
  if (type == "<u8") return converted<u64>(runtime, array, dtype, where);
  return converted<u8>(runtime, array, dtype, where);
}

Tensor tensor_of(Runtime& runtime, const StoredTensor& stored, std::optional<DType> as, const std::string& where) {
  if (stored.type == StoredType::bf16 && as.value_or(DType::bf16) == DType::bf16) {
    std::vector<u16> bits(stored.data.size() / 2);
    if (!bits.empty()) std::memcpy(bits.data(), stored.data.data(), stored.data.size());
    return Tensor::from_host_bf16(runtime, bits, shape_of(stored.shape, where));
  }
  if (stored.type == StoredType::bf16) {
    std::vector<float> values(stored.data.size() / 2);
    read_rows({StoredType::bf16, {values.size()}, stored.data}, 0, values);
    return tensor_of(runtime, {"<f4", false, stored.shape, std::as_bytes(std::span(values))}, as, where);
  }
  const char* type = stored.type == StoredType::f32   ? "<f4"
                     : stored.type == StoredType::f16 ? "<f2"
                     : stored.type == StoredType::i32 ? "<i4"
                     : stored.type == StoredType::u32 ? "<u4"
                                                      : "|b1";
  return tensor_of(runtime, NpyArray{type, false, stored.shape, stored.data}, as, where);
}

// A tensor's elements as a file holds them: booleans in a byte each, bf16 as bits.
std::vector<std::byte> contents(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::int32:
      return bytes_of(tensor.to_host_int32());
    case DType::uint32:
      return bytes_of(tensor.to_host_uint32());
    case DType::fp32:
      return bytes_of(tensor.to_host());
    default:
      break;
  }
  const std::vector<float> values = tensor.to_host();
  if (tensor.dtype() == DType::boolean) return bytes_of(std::vector<u8>(values.begin(), values.end()));
  std::vector<u16> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), bf16_from_float);
  return bytes_of(bits);
}

std::string header_of(const std::string& where, const Tensor& tensor) {
  const DType dtype = checked("save", tensor).dtype();
  if (is_float(dtype) && dtype != DType::fp32)
    throw Unsupported(
        fmt::format("{}: NumPy has no {}; cast to fp32, or save as safetensors", where, compiler::to_string(dtype)));
  const char* type = dtype == DType::fp32     ? "<f4"
                     : dtype == DType::int32  ? "<i4"
                     : dtype == DType::uint32 ? "<u4"
                                              : "|b1";
  return npy_header(type, tensor.shape());
}

constexpr std::string_view kNpy = ".npy";

}  // namespace

Tensor load_npy(Runtime& runtime, const std::string& path, std::optional<DType> as) {
  const MappedFile file(path);
  return tensor_of(runtime, read_npy(file.bytes(), path), as, path);
}

NamedTensors load_npz(Runtime& runtime, const std::string& path, std::optional<DType> as) {
  const ZipReader archive(path);
  NamedTensors out;
  for (const ZipReader::Entry& entry : archive.entries()) {
    const std::string where = fmt::format("{}: entry '{}'", path, entry.name);
    if (!entry.name.ends_with(kNpy)) throw UsageError(where + " is no .npy; take it out of the archive");
    const std::vector<std::byte> bytes = archive.read(entry);
    const std::string name = entry.name.substr(0, entry.name.size() - kNpy.size());
    if (!out.emplace(name, tensor_of(runtime, read_npy(bytes, where), as, where)).second)
      throw UsageError(where + " is there twice; the file is damaged, write it again");
  }
  return out;
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = header_of(path, tensor);
  const std::vector<std::byte> bytes = contents(tensor);
  NewFile file(path);
  file.write(header);
  file.write(bytes);
  file.commit();
}

void save_npz(const std::string& path, const NamedTensors& tensors) {
  ZipWriter archive(path);
  for (const auto& [name, tensor] : tensors) {
    const std::string header = header_of(fmt::format("{}: '{}'", path, name), tensor);
    archive.add(name + std::string(kNpy), std::as_bytes(std::span(header)), contents(tensor));
  }
  archive.commit();
}

NamedTensors load_safetensors(Runtime& runtime, const std::string& path, std::optional<DType> as) {
  const Safetensors file(path);
  NamedTensors out;
  for (const auto& [name, stored] : file.tensors())
    out[name] = tensor_of(runtime, stored, as, fmt::format("{}: tensor '{}'", path, name));
  return out;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors) {
  std::vector<NewStoredTensor> entries;
  for (const auto& [name, tensor] : tensors) {
    const DType dtype = checked("save_safetensors", tensor).dtype();
    if (is_block(dtype))
      throw Unsupported(fmt::format("{}: '{}': safetensors has no {}; cast to bf16, which holds its values", path, name,
                                    compiler::to_string(dtype)));
    const StoredType type = dtype == DType::fp32     ? StoredType::f32
                            : dtype == DType::bf16   ? StoredType::bf16
                            : dtype == DType::int32  ? StoredType::i32
                            : dtype == DType::uint32 ? StoredType::u32
                                                     : StoredType::boolean;
    entries.push_back(
        {name, type, {tensor.shape().begin(), tensor.shape().end()}, [tensor = tensor] { return contents(tensor); }});
  }
  write_safetensors(path, std::move(entries));
}

}  // namespace baretile
