// Host values to pages and back: where each element lies, rounding to bf16 and block formats, zeros in the padding.
// int32 is two's complement.
#pragma once
#include <cstddef>
#include <span>

#include "compiler/graph/layout.h"

namespace baretile {

u16 bf16_from_float(float value);  // to nearest even; NaN stays NaN
float float_from_bf16(u16 bits);

// Blocks of `bits` (4, 8) a value, of at most 16 values, as kernels store them, bit for bit: to the nearest multiple of
// the step that the largest has, ties away from zero; no zero is negative. With an infinity or a NaN, which stay what
// they are, all values far below 2^128 become zero.
u8 encode_block(std::span<const float> values, u32 bits, std::span<u8> data);  // returns the exponent
void decode_block(std::span<const u8> data, u8 exponent, u32 bits, std::span<float> values);

// One tensor's place in pages; bf16, fp32 and integers in Tiling::tile and row (only kernels make Tiling::split).
struct PageFormat {
  compiler::Extents extents;
  DType dtype = DType::fp32;
  Tiling tiling = Tiling::tile;

  PageFormat(const compiler::Shape& shape, DType dtype_, Tiling tiling_)
      : extents(compiler::extents(shape)), dtype(dtype_), tiling(tiling_) {}
  PageFormat(const compiler::Shape& shape, DType dtype_) : PageFormat(shape, dtype_, compiler::default_tiling(shape)) {}
  u32 page_bytes() const { return baretile::page_bytes(tiling, dtype); }
  u64 pages() const;
  // Of what comes from the host. A matrix with many rows of tiles is mostly weights, [out, in], and then each row lies
  // in one bank: a product by a single row reads it with the tile beside that bank.
  u32 run_pages() const;

  // `pages` is a whole number of pages from `first_page` on; `values` are all of the tensor, row-major.
  void encode(std::span<const float> values, u64 first_page, std::span<std::byte> pages) const;
  void encode(std::span<const i32> values, u64 first_page, std::span<std::byte> pages) const;
  void encode(std::span<const u32> values, u64 first_page, std::span<std::byte> pages) const;
  void encode_bf16(std::span<const u16> bits, u64 first_page, std::span<std::byte> pages) const;
  void decode(std::span<const std::byte> pages, u64 first_page, std::span<float> values) const;
  void decode(std::span<const std::byte> pages, u64 first_page, std::span<i32> values) const;
  void decode(std::span<const std::byte> pages, u64 first_page, std::span<u32> values) const;
};

}  // namespace baretile
