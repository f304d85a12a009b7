#include "files/stored_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "baretile/error.h"

namespace baretile {
namespace {

constexpr int kBlock = 32;  // elements of a quantised block

template <class T>
T load(const std::byte* at) {  // blocks are not aligned
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float half_to_float(u16 word) {
  const u32 sign = static_cast<u32>(word & 0x8000) << 16, exponent = word >> 10 & 31, fraction = word & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(fraction), -24), std::bit_cast<float>(sign));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// Q4_0 and Q4_1: element i is the low nibble of byte i, element i + 16 the high one; value = nibble * scale + offset.
void read_nibbles(const std::byte* at, float scale, float offset, float* out) {
  for (int i = 0; i < kBlock / 2; ++i) {
    const u32 byte = std::to_integer<u32>(at[i]);
    out[i] = static_cast<float>(byte & 15) * scale + offset;
    out[i + kBlock / 2] = static_cast<float>(byte >> 4) * scale + offset;
  }
}

void read_block(StoredType type, const std::byte* at, float* out) {
  switch (type) {
    case StoredType::f32:
      *out = load<float>(at);
      return;
    case StoredType::f16:
      *out = half_to_float(load<u16>(at));
      return;
    case StoredType::bf16:
      *out = bf16_to_float(load<u16>(at));
      return;
    case StoredType::i32:
      *out = static_cast<float>(load<i32>(at));
      return;
    case StoredType::u32:
      *out = static_cast<float>(load<u32>(at));
      return;
    case StoredType::boolean:
      *out = load<u8>(at) != 0;
      return;
    case StoredType::q4_0: {
      const float scale = half_to_float(load<u16>(at));
      return read_nibbles(at + 2, scale, -8 * scale, out);
    }
    case StoredType::q4_1:
      return read_nibbles(at + 4, half_to_float(load<u16>(at)), half_to_float(load<u16>(at + 2)), out);
    case StoredType::q8_0: {
      const float scale = half_to_float(load<u16>(at));
      for (int i = 0; i < kBlock; ++i) out[i] = static_cast<float>(std::to_integer<signed char>(at[2 + i])) * scale;
      return;
    }
  }
}

void check_range(const StoredTensor& tensor, u64 first_row, u64 elements) {
  const u64 columns = std::max<u64>(tensor.columns(), 1), rows = elements / columns;
  if (elements % columns != 0 || first_row > tensor.rows() || rows > tensor.rows() - first_row)
    throw InternalError(fmt::format("{} elements from row {} asked of a tensor with {} rows of {}", elements, first_row,
                                    tensor.rows(), tensor.columns()));
}

}  // namespace

std::string shape_text(const std::vector<u64>& shape) {
  std::string text;  // by hand: fmt::join fails -Werror=stringop-overflow under g++ 12 at -O3
  for (u64 dimension : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", dimension);
  return "[" + text + "]";
}

u64 stored_bytes(StoredType type, const std::vector<u64>& shape, const std::string& where) {
  const StoredTypeInfo& info = stored_type_info(type);
  u64 elements = 1;
  for (u64 dimension : shape)
    if (dimension == 0 || __builtin_mul_overflow(elements, dimension, &elements))
      throw UsageError(
          fmt::format("{} has the impossible shape {}; the file is damaged, fetch it again", where, shape_text(shape)));
  const u64 columns = shape.empty() ? 1 : shape.back();
  if (columns % info.block_elements != 0)
    throw UsageError(
        fmt::format("{} has rows of {}, not a multiple of {}'s block of {}; the file is damaged, fetch it again", where,
                    columns, info.name, info.block_elements));
  u64 bytes = 0;
  if (__builtin_mul_overflow(elements / info.block_elements, info.block_bytes, &bytes))
    throw UsageError(
        fmt::format("{} has the impossible shape {}; the file is damaged, fetch it again", where, shape_text(shape)));
  return bytes;
}

const StoredTensor& find_tensor(const TensorMap& tensors, std::string_view name, const std::string& path) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw UsageError(fmt::format("{}: no tensor '{}' among {}; this is not the model asked for, give another file",
                                 path, name, tensors.size()));
  return found->second;
}

void read_rows(const StoredTensor& tensor, u64 first_row, std::span<float> out) {
  check_range(tensor, first_row, out.size());
  const StoredTypeInfo& info = stored_type_info(tensor.type);
  const std::byte* at = tensor.data.data() + first_row * tensor.row_bytes();
  for (u64 i = 0; i < out.size(); i += info.block_elements, at += info.block_bytes)
    read_block(tensor.type, at, &out[i]);
}

void read_rows_bf16(const StoredTensor& tensor, u64 first_row, std::span<u16> out) {
  check_range(tensor, first_row, out.size());
  std::vector<float> row(tensor.columns());
  for (u64 i = 0; i < out.size(); i += row.size()) {
    read_rows(tensor, first_row + i / row.size(), row);
    for (u64 j = 0; j < row.size(); ++j) out[i + j] = float_to_bf16(row[j]);
  }
}

}  // namespace baretile
