// Datum conversion of the unpackers: L1 formats into the bit layouts of Src and Dst (Unpackers/FormatConversion.md).
#pragma once
#include "baretile/isa/isa.h"

namespace baretile::sim {

// What a run of datums becomes; exponent_first counts datums, so a run may start inside a group of 16.
enum class Conversion : u32 {
  none,
  fp32_to_tf32,
  fp32_to_bf16,
  fp32_to_fp16,
  bf16,
  fp16,
  fp8,
  int16,
  int8,
  uint8,
  bfp8,
  bfp4,
  bfp2,
  to_dst
};

struct DatumRun {
  const u8* data;       // byte of the first datum (the low bits of bfp4 and bfp2 come from first_datum)
  const u8* exponents;  // of datum 0 of the tile
  u32 first_datum, count;
};

Conversion conversion_of(isa::Format in, isa::Format out, bool to_dst, bool unsigned_int8);  // none: not possible
void convert(Conversion, const DatumRun&, u32* out);

}  // namespace baretile::sim
