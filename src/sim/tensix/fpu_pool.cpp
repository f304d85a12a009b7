// GMPOOL: the maximum of 16 SrcA rows and a Dst row, column by column.
#include <fmt/format.h>

#include <algorithm>

#include "sim/fault.h"
#include "sim/tensix/fpu.h"

namespace baretile::sim {
namespace {

// A number ordered as GMPOOL.md's AsComparable does, by sign, exponent and mantissa. SrcB's exponent only ever adds a
// constant here.
constexpr i32 kLowest = -(0x1FF << 10 | 0x3FF);
i32 comparable(bool negative, u32 exponent, u32 mantissa) {
  const i32 magnitude = i32(exponent << 10 | mantissa);
  return negative ? -magnitude : magnitude;
}

void check(const State& s, const Operands& o, const isa::GMPOOL& i, u32 row_b, u32 dst_row) {
  const auto accepted = [](isa::Format f) {
    return f == isa::Format::fp32 || f == isa::Format::tf32 || f == isa::Format::bf16 || f == isa::Format::bfp8 ||
           f == isa::Format::bfp4;
  };
  if (!i.Mod19 || i.MaxPoolIndexEn) fault(FaultKind::not_modelled, "GMPOOL with bit 19 clear or bit 14 (index) set");
  if (o.int8 || !accepted(o.format_a) || !accepted(o.format_b))
    fault(FaultKind::not_modelled,
          fmt::format("GMPOOL with SrcA format {} and SrcB format {}", u32(o.format_a), u32(o.format_b)));
  if (o.row_a % 16 || row_b % 8 || dst_row % 4)
    fault(FaultKind::not_modelled,
          fmt::format("GMPOOL at SrcA row {}, SrcB row {}, Dst row {}: not multiples of 16, 8, 4", o.row_a, row_b,
                      dst_row));
  for (u32 datum : s.src_b[o.bank_b].rows[row_b])
    if (datum != 127)
      fault(FaultKind::not_modelled, fmt::format("GMPOOL with a SrcB scale that is not 1.0 (datum {:#x})", datum));
}

}  // namespace

void exec(State& s, const Operands& o, const isa::GMPOOL& i) {
  const u32 row_a = o.row_a & 0x3F, row_b = o.row_b & 0x3F, row = (i.DstRow + o.row_dst) & 0x3FF;
  check(s, o, i, row_b, row);
  const bool valid = s.dst.valid(o.fp32 ? Dst::high_row(row) : row);
  const u32 mantissa_mask = o.format_a == isa::Format::tf32 ? 0x3FF : 0x3F8;
  i32 top[kColumns];
  for (u32 c = 0; c < kColumns; c++) {
    const u32 d = o.fp32 ? s.dst.read32(row, c) : u32{s.dst.read16(row, c)} << 16;
    top[c] = valid ? comparable(d >> 31, (d >> 16 & 0xFF) + 127, (d >> 24 & 0x7F) << 3 | (d >> 13 & 7)) : kLowest;
  }
  for (u32 k = 0; k < 16; k++)
    for (u32 c = 0; c < kColumns; c++) {
      const u32 a = s.src_a[o.bank_a].rows[row_a + k][c];
      const i32 value = comparable(a >> 18, (a & 0xFF) + 127, a >> 8 & mantissa_mask);
      top[c] = std::max(top[c], (a & 0xFF) == 0 ? 0 : value);
    }
  for (u32 c = 0; c < kColumns; c++) {
    const u32 magnitude = u32(top[c] < 0 ? -top[c] : top[c]), exponent = magnitude >> 10, mantissa = magnitude & 0x3FF;
    u32 result = 0;
    if (exponent != 0)
      result =
          u32{top[c] < 0} << 31 | (mantissa & 0x3F8) << 21 | ((exponent - 127) & 0xFF) << 16 | (mantissa & 7) << 13;
    for (u32 r = 0; r < 4; r++) {
      if (o.fp32)
        s.dst.write32(row + r, c, r == 0 ? result : 0);
      else
        s.dst.write16(row + r, c, r == 0 ? u16(result >> 16) : u16{0});
    }
  }
}

}  // namespace baretile::sim
