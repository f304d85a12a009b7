// The packer's output streams and conversions (Packers/{OutputAddressGenerator,FormatConversion,ReLU}.md).
#pragma once
#include "baretile/isa/isa.h"

namespace baretile::sim {

// One stream to L1: bytes leave in blocks of 16, the last of them padded with zeros (OutputAddressGenerator.md).
struct PackStream {
  u32 addr = 0;    // of the block being filled
  u32 filled = 0;  // bytes of it
  alignas(16) u8 block[16] = {};
};

struct PackOutput {
  bool needs_address = true;  // the next PACR starts a tile
  u32 datums = 0;             // of the tile so far: the edge masks' position
  PackStream data, exponents;
};

// From Dst's bits to the value the packer works on: IEEE fp32 bits of a float of any width, or an integer as it is.
enum class EarlyConversion : u8 {
  none,
  bf16,
  e8m6_of_bf16,
  fp16,
  e5m6,
  fp32,
  bf16_of_fp32,
  e8m6_of_fp32,
  tf32_of_fp32,
  int32,
  int16,
  int16_of_high,
  int8
};
enum class LateConversion : u8 { none, fp32, bf16, fp16, fp8, bfp8, bfp4, bfp2, int32, int16, int8 };

struct PackMode {
  EarlyConversion early = EarlyConversion::none;
  LateConversion late = LateConversion::none;
};
PackMode pack_mode(bool read32, isa::Format in, isa::Format out);  // none: ttsim has no such mode

void convert_early(EarlyConversion, const u32* dst_bits, u32 count, u32* out, bool unsigned_int8);
void apply_relu(u32 mode, u32 threshold, bool integer, u32* values, u32 count);  // threshold: fp32 bits
// The bytes of `count` values (16 or fewer share an exponent); returns how many bytes were written to `out`.
u32 convert_late(LateConversion, const u32* values, u32 count, u8* out, u8* exponents);

// Sums of Pack_L1_Acc: what L1 holds and the packed value.
u32 add_fp32(u32 old, u32 value);
u32 add_bf16(u32 old, u32 value);
u32 add_fp16(u32 old, u32 value);

}  // namespace baretile::sim
