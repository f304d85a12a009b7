#include "tensor/format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace baretile {

u16 bf16_from_float(float value) {
  u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return u16(bits >> 16 | 0x40);
  return u16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float float_from_bf16(u16 bits) { return std::bit_cast<float>(u32(bits) << 16); }

namespace {

u32 bits_of(float value) { return std::bit_cast<u32>(value); }

// To three bits the packer cuts what it has rounded to seven: half a step less half of the finer one comes on first.
// The same arithmetic as kernels/sfpu.h, round_blocks.
void prepare_for_three_bits(std::span<float> values) {
  u32 largest = 0;
  for (const float v : values) largest = std::max(largest, bits_of(v) & 0x7FFFFFFF);
  const u32 exponent = (std::min(largest, 0x7F6FFFFFu) + 0x100000) & 0x7F800000;  // of the rounded one
  if (exponent <= 4 << 23) return;
  const float addend = std::bit_cast<float>(exponent) * 0.1171875f;
  for (float& v : values) v += std::copysign(addend, v);
}

}  // namespace

u8 encode_block(std::span<const float> given, u32 bits, std::span<u8> data) {
  std::array<float, 16> store;
  const std::span<float> values = std::span(store).first(given.size());
  std::transform(given.begin(), given.end(), values.begin(), [](float v) {
    return std::isnan(v) ? std::numeric_limits<float>::quiet_NaN() : std::fpclassify(v) == FP_SUBNORMAL ? 0 : v;
  });
  if (bits == 4) prepare_for_three_bits(values);
  u32 largest = 0;
  for (const float v : values) largest = std::max(largest, bits_of(v) >> 23 & 0xFF);
  std::fill(data.begin(), data.end(), u8{0});
  for (size_t i = 0; i < values.size(); ++i) {
    const u32 v = bits_of(values[i]), exponent = v >> 23 & 0xFF, shift = largest - exponent;
    if (exponent == 0 || shift >= 8) continue;
    const u32 seven = std::min((((v >> 16 & 0x7F) | 0x80) + (1u << shift)) >> (shift + 1), 127u);
    const u32 magnitude = seven >> (8 - bits);
    if (magnitude) data[i * bits / 8] |= u8((magnitude | v >> 31 << (bits - 1)) << (i * bits % 8));
  }
  return u8(largest);
}

void decode_block(std::span<const u8> data, u8 exponent, u32 bits, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const u32 datum = u32(data[i * bits / 8]) >> (i * bits % 8) << (8 - bits), magnitude = datum & 0x7F;
    const u32 scaled = magnitude ? bits_of(float(magnitude)) + ((u32(exponent) - 133) << 23) : 0;
    values[i] = std::bit_cast<float>((datum & 0x80) << 24 | scaled);
  }
}

u64 PageFormat::pages() const {
  compiler::Extents grid = compiler::page_grid(extents, tiling);
  return u64(grid.batch * grid.rows * grid.cols);
}

u32 PageFormat::run_pages() const {
  constexpr i64 kFewestRows = 24,
                kMostPages = 128;  // with fewer rows banks get uneven shares; longer ones leave banks idle in order
  const compiler::Extents grid = compiler::page_grid(extents, tiling);
  const bool whole = grid.batch * grid.rows >= kFewestRows && grid.cols > abi::kRunPages && grid.cols <= kMostPages;
  return tiling == Tiling::tile && whole ? u32(grid.cols) : abi::kRunPages;
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

// Calls block(element, exponent, data, count) for each block of block formats: its exponent's place in `pages`, and its
// data's.
template <typename Block>
void for_each_block(const PageFormat& f, u64 first_page, size_t bytes, Block block) {
  constexpr size_t kValues = 1024, kBlocks = kValues / kRun;
  for_each_run(f, first_page, bytes, [&](size_t element, size_t position, size_t count) {
    const size_t start = position / kValues * f.page_bytes(), at = position % kValues;
    const size_t data = start + kBlocks + at * (f.page_bytes() - kBlocks) / kValues;
    block(element, start + at / kRun, data, count);
  });
}

}  // namespace

void PageFormat::encode(std::span<const float> values, u64 first_page, std::span<std::byte> pages) const {
  if (is_block(dtype)) {
    std::fill(pages.begin(), pages.end(), std::byte{0});
    u8* out = reinterpret_cast<u8*>(pages.data());
    const u32 bits = dtype == DType::bfp4 ? 4 : 8;
    return for_each_block(*this, first_page, pages.size(), [&](size_t element, size_t exponent, size_t data, size_t n) {
      out[exponent] = encode_block(values.subspan(element, n), bits, {out + data, 2 * bits});
    });
  }
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
  if (is_block(dtype)) {
    const u8* in = reinterpret_cast<const u8*>(pages.data());
    const u32 bits = dtype == DType::bfp4 ? 4 : 8;
    return for_each_block(*this, first_page, pages.size(), [&](size_t element, size_t exponent, size_t data, size_t n) {
      decode_block({in + data, 2 * bits}, in[exponent], bits, values.subspan(element, n));
    });
  }
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
