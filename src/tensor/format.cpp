#include "tensor/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace baretile {

u16 bf16_from_float(float value) {
  u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return u16(bits >> 16 | 0x40);
  return u16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float float_from_bf16(u16 bits) { return std::bit_cast<float>(u32(bits) << 16); }

u64 PageFormat::pages() const {
  compiler::Extents grid = compiler::page_grid(extents, tiling);
  return u64(grid.batch * grid.rows * grid.cols);
}

namespace {

constexpr i64 kRun = 16;  // elements that lie side by side in a page and in the tensor

// Calls run(element, position, count) for each run of the pages: `count` elements from `element` on lie at `position`
// of all pages (in elements); the rest of the run is padding.
template <typename Run>
void for_each_run(const PageFormat& f, u64 first_page, size_t bytes, Run run) {
  compiler::Extents grid = compiler::page_grid(f.extents, f.tiling);
  const i64 rows = compiler::page_rows(f.tiling);
  for (u64 p = 0; p < bytes / f.page_bytes(); ++p) {
    const i64 page = i64(first_page + p), matrix = page / (grid.rows * grid.cols);
    const i64 top = page / grid.cols % grid.rows * rows, left = page % grid.cols * 32;
    for (i64 r = 0; r < std::min(rows, f.extents.rows - top); ++r) {
      for (i64 half = 0; half < 2; ++half) {
        const i64 count = std::min(kRun, f.extents.cols - left - half * kRun);
        if (count <= 0) break;
        const i64 element = (matrix * f.extents.rows + top + r) * f.extents.cols + left + half * kRun;
        const i64 place = f.tiling == Tiling::tile ? (r / 16 * 2 + half) * 256 + r % 16 * 16 : half * kRun;
        run(size_t(element), p * size_t(rows * 32) + size_t(place), size_t(count));
      }
    }
  }
}

template <typename Stored, typename Value, typename Convert>
void encode_as(const PageFormat& f, std::span<const Value> values, u64 first_page, std::span<std::byte> pages,
               Convert convert) {
  std::fill(pages.begin(), pages.end(), std::byte{0});
  Stored* out = reinterpret_cast<Stored*>(pages.data());
  for_each_run(f, first_page, pages.size(), [&](size_t element, size_t position, size_t count) {
    std::transform(values.begin() + i64(element), values.begin() + i64(element + count), out + position, convert);
  });
}

template <typename Stored, typename Value, typename Convert>
void decode_as(const PageFormat& f, std::span<const std::byte> pages, u64 first_page, std::span<Value> values,
               Convert convert) {
  const Stored* in = reinterpret_cast<const Stored*>(pages.data());
  for_each_run(f, first_page, pages.size(), [&](size_t element, size_t position, size_t count) {
    std::transform(in + position, in + position + count, values.begin() + i64(element), convert);
  });
}

}  // namespace

void PageFormat::encode(std::span<const float> values, u64 first_page, std::span<std::byte> pages) const {
  if (dtype_bytes(dtype) == 2) return encode_as<u16>(*this, values, first_page, pages, bf16_from_float);
  encode_as<float>(*this, values, first_page, pages, [](float v) { return v; });
}

void PageFormat::encode(std::span<const i32> values, u64 first_page, std::span<std::byte> pages) const {
  encode_as<i32>(*this, values, first_page, pages, [](i32 v) { return v; });
}

void PageFormat::encode(std::span<const u32> values, u64 first_page, std::span<std::byte> pages) const {
  encode_as<u32>(*this, values, first_page, pages, [](u32 v) { return v; });
}

void PageFormat::encode_bf16(std::span<const u16> bits, u64 first_page, std::span<std::byte> pages) const {
  encode_as<u16>(*this, bits, first_page, pages, [](u16 v) { return v; });
}

void PageFormat::decode(std::span<const std::byte> pages, u64 first_page, std::span<float> values) const {
  if (dtype_bytes(dtype) == 2) return decode_as<u16>(*this, pages, first_page, values, float_from_bf16);
  decode_as<float>(*this, pages, first_page, values, [](float v) { return v; });
}

void PageFormat::decode(std::span<const std::byte> pages, u64 first_page, std::span<i32> values) const {
  decode_as<i32>(*this, pages, first_page, values, [](i32 v) { return v; });
}

void PageFormat::decode(std::span<const std::byte> pages, u64 first_page, std::span<u32> values) const {
  decode_as<u32>(*this, pages, first_page, values, [](u32 v) { return v; });
}

}  // namespace baretile
