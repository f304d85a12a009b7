// A tensor as a model file stores it, plain or in quantised blocks, and its rows as fp32 or bf16.
//   std::vector<float> row(tensor.columns());  read_rows(tensor, 5, row);
#pragma once
#include <bit>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baretile/bits.h"

namespace baretile {

enum class StoredType { f32, f16, bf16, i32, u32, boolean, q4_0, q4_1, q8_0 };

// A row of `columns` elements is columns / block_elements blocks of block_bytes.
struct StoredTypeInfo {
  StoredType type;
  const char* name;  // as safetensors and ggml print it
  u32 ggml_type;     // kNone: of safetensors only
  u64 block_elements, block_bytes;
};

inline constexpr u32 kNone = ~u32{0};
inline constexpr StoredTypeInfo kStoredTypes[] = {
    {StoredType::f32, "F32", 0, 1, 4},     {StoredType::f16, "F16", 1, 1, 2},
    {StoredType::bf16, "BF16", 30, 1, 2},  {StoredType::i32, "I32", kNone, 1, 4},
    {StoredType::u32, "U32", kNone, 1, 4}, {StoredType::boolean, "BOOL", kNone, 1, 1},
    {StoredType::q4_0, "Q4_0", 2, 32, 18}, {StoredType::q4_1, "Q4_1", 3, 32, 20},
    {StoredType::q8_0, "Q8_0", 8, 32, 34},
};
constexpr const StoredTypeInfo& stored_type_info(StoredType type) { return kStoredTypes[static_cast<int>(type)]; }

struct StoredTensor {
  StoredType type = StoredType::f32;
  std::vector<u64> shape;           // outermost first, as NumPy; no element is 0 but in safetensors
  std::span<const std::byte> data;  // inside the file's mapping, exactly rows() * row_bytes()

  u64 columns() const { return shape.empty() ? 1 : shape.back(); }
  u64 row_bytes() const {
    return columns() / stored_type_info(type).block_elements * stored_type_info(type).block_bytes;
  }
  u64 rows() const { return data.empty() ? 0 : data.size() / row_bytes(); }
};

std::string shape_text(const std::vector<u64>& shape);  // "[576, 1536]"

using TensorMap = std::map<std::string, StoredTensor, std::less<>>;

// Bytes that a tensor of this type and shape takes. Throws UsageError starting with `where` when a dimension is 0, when
// a row is no whole number of blocks, or when the product leaves 64 bits.
u64 stored_bytes(StoredType type, const std::vector<u64>& shape, const std::string& where);

// Throws UsageError naming the file when it has no tensor of that name.
const StoredTensor& find_tensor(const TensorMap& tensors, std::string_view name, const std::string& path);

// Rows first_row … first_row + out.size() / columns() - 1; out is a whole number of rows.
void read_rows(const StoredTensor& tensor, u64 first_row, std::span<float> out);
void read_rows_bf16(const StoredTensor& tensor, u64 first_row, std::span<u16> out);  // rounded to nearest even

constexpr float bf16_to_float(u16 word) { return std::bit_cast<float>(static_cast<u32>(word) << 16); }
constexpr u16 float_to_bf16(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<u16>(bits >> 16 | 0x40);  // a NaN must not round to infinity
  return static_cast<u16>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace baretile
