#include "sim/tensix/fpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/fault.h"
#include "sim/tensix/fpu_avx2.h"

namespace baretile::sim {
namespace {

using isa::Format;
using ref::DstKind;

// The mantissa bits a format has, and whether its exponents have five bits; `extra` widens the accepted list
// (SrcASrcB.md; ttsim takes no other).
u32 mask_of(Format f) {
  return f == Format::tf32 || f == Format::fp16 || f == Format::fp8 ? ref::Style::kAllBits : ref::Style::kBf16Bits;
}

ref::Style style_of(const Operands& o, std::string_view insn, bool bfp2) {
  const auto eight_bit_exponent = [bfp2](Format f) {
    return f == Format::fp32 || f == Format::tf32 || f == Format::bf16 || f == Format::bfp8 || f == Format::bfp4 ||
           (bfp2 && f == Format::bfp2);
  };
  const bool half = (o.format_a == Format::fp16 || o.format_a == Format::fp8) && o.format_a == o.format_b;
  if (o.int8 ? o.format_a != Format::int8 || o.format_b != Format::int8
             : !half && !(eight_bit_exponent(o.format_a) && eight_bit_exponent(o.format_b)))
    fault(FaultKind::not_modelled, fmt::format("{} with SrcA format {} and SrcB format {}{}", insn, u32(o.format_a),
                                               u32(o.format_b), o.int8 ? " (int8)" : ""));
  return {half, mask_of(o.format_a), mask_of(o.format_b)};
}

void check_aligned(std::string_view insn, std::string_view what, u32 row, u32 unit) {
  if (row % unit)
    fault(FaultKind::not_modelled, fmt::format("{} at {} {}: not a multiple of {}", insn, what, row, unit));
}

// Five-bit exponents leave the three bits above them zero.
void check_exponents(std::string_view insn, const u32 (*rows)[kColumns], u32 count) {
  u32 any = 0;
  for (u32 r = 0; r < count; r++)
    for (u32 c = 0; c < kColumns; c++) any |= rows[r][c];
  if (any & 0xE0)
    fault(FaultKind::not_modelled,
          fmt::format("{} on Src data that is not FP16: exponent bits above the fifth are set", insn));
}

DstKind dst_kind(const Operands& o, bool half) { return o.fp32 ? DstKind::fp32 : half ? DstKind::fp16 : DstKind::bf16; }

// Before an instruction writes whole rows: emptied ones get their zeros, and all their valid bits. `fresh` rows lose
// what they held.
void prepare_rows(Dst& dst, DstKind kind, u32 row, u32 rows, bool fresh) {
  if (!fresh && dst.valid_block(kind == DstKind::fp32 ? Dst::high_row(row) : row)) return;
  for (u32 r = row; r < row + rows; r++) {
    const u32 high = kind == DstKind::fp32 ? Dst::high_row(r) : r;
    if (dst.valid(high) && !fresh) continue;
    std::fill_n(dst.rows[high], kColumns, u16{0});
    if (kind == DstKind::fp32) std::fill_n(dst.rows[high + 8], kColumns, u16{0});
    dst.set_valid(high);
  }
}

// Integer "8" operands as a fidelity phase sees them, and integer "32" in Dst: both sign and magnitude (ELWMUL.md).
i32 int8_of(u32 datum, u32 mask) {
  const i32 magnitude = i32(datum & mask) >> 8 & 0x3FF;
  return datum >> 18 ? -magnitude : magnitude;
}
u32 int8_mask_a(u32 phase) { return phase & 1 ? 0x41FFF : 0x4E0FF; }
u32 int8_mask_b(u32 phase) { return phase & 2 ? 0x40FFF : 0x7F0FF; }

void add_int32(Dst& dst, u32 row, u32 col, i64 value, bool accumulate) {
  if (accumulate) {
    const u32 old = fp32_of_dst(dst.read32(row, col));
    value += old >> 31 ? -i64{old & 0x7FFFFFFF} : i64{old};
  }
  const u32 magnitude = u32(std::min<i64>(value < 0 ? -value : value, 0x7FFFFFFF));
  dst.write32(row, col, dst_of_fp32(value < 0 ? magnitude | 0x80000000 : magnitude));
}

void multiply(State& s, const Operands& o, std::string_view insn, u32 dst_row, u32 rows) {
  const SrcBank &a = s.src_a[o.bank_a], &b = s.src_b[o.bank_b];
  const u32 row_a = o.row_a & 0x3F, row_b = o.row_b & 0x3F;
  check_aligned(insn, "Dst row", dst_row, rows);
  check_aligned(insn, "SrcA row", row_a, 16);
  check_aligned(insn, "SrcB row", row_b, 8);
  if (o.keep_src_denormals)
    fault(FaultKind::not_modelled, fmt::format("{} with ALU_ACC_CTRL_Zero_Flag_disabled_src", insn));
  const ref::Style style = style_of(o, insn, false);
  if (o.int8) {
    for (u32 i = 0; i < rows; i++)
      for (u32 col = 0; col < kColumns; col++) {
        i32 x = 0;
        for (u32 k = 0; k < 16; k++)
          x += int8_of(b.rows[row_b + i][k], int8_mask_b(o.phase)) *
               int8_of(a.rows[row_a + k][col], int8_mask_a(o.phase));
        add_int32(s.dst, dst_row + i, col, x, true);
      }
    return;
  }
  if (style.half) {
    check_exponents(insn, a.rows + row_a, 16);
    check_exponents(insn, b.rows + row_b, rows);
  }
  const DstKind kind = dst_kind(o, style.half);
  prepare_rows(s.dst, kind, dst_row, rows, false);
  if (avx2_available()) {
    SrcASlices& slices_a = s.slices_a[o.bank_a][o.phase & 1];
    SrcBSlices& slices_b = s.slices_b[o.bank_b][o.phase >> 1];
    refresh_avx2(slices_a, a, row_a, style, o.phase & 1);
    refresh_avx2(slices_a, a, row_a + 8, style, o.phase & 1);
    refresh_avx2(slices_b, b, row_b, style, o.phase & 2);
    multiply_avx2(s.dst, dst_row, kind, slices_a, row_a, slices_b, row_b, rows, style.half, o.phase);
  } else {
    ref::multiply(s.dst, dst_row, kind, a, row_a, b, row_b, rows, style, o.phase);
  }
}

// ELWADD, ELWSUB, ELWMUL. `mod` bit 0 broadcasts SrcB's column 0, bit 1 a row.
void elementwise(State& s, const Operands& o, ref::Elementwise op, u32 dst_row, u32 mod, bool accumulate) {
  const std::string_view insn = op == ref::Elementwise::add   ? "ELWADD"
                                : op == ref::Elementwise::sub ? "ELWSUB"
                                                              : "ELWMUL";
  const bool broadcast_col = mod & 1, broadcast_row = mod & 2;
  const u32 row_a = o.row_a & 0x3F, row_b = o.row_b & 0x3F;
  dst_row = (dst_row + o.row_dst) & 0x3FF;
  check_aligned(insn, "Dst row", dst_row, 8);
  check_aligned(insn, "SrcA row", row_a, 8);
  check_aligned(insn, "SrcB row", row_b, 8);
  if (o.keep_src_denormals)
    fault(FaultKind::not_modelled, fmt::format("{} with ALU_ACC_CTRL_Zero_Flag_disabled_src", insn));
  if (op != ref::Elementwise::mul && o.phase != 0)
    fault(FaultKind::undefined_behaviour, fmt::format("{} in fidelity phase {}", insn, o.phase));
  const ref::Style style = style_of(o, insn, true);
  const DstKind kind = dst_kind(o, style.half);
  if (style.half) {
    check_exponents(insn, s.src_a[o.bank_a].rows + row_a, 8);
    check_exponents(insn, s.src_b[o.bank_b].rows + row_b, broadcast_row ? 1 : 8);
  }
  if (!o.int8) prepare_rows(s.dst, kind, dst_row, 8, !accumulate);
  for (u32 i = 0; i < 8; i++) {
    const ref::RowPair rows{s.src_a[o.bank_a].rows[row_a + i], s.src_b[o.bank_b].rows[row_b + (broadcast_row ? 0 : i)],
                            broadcast_col};
    if (o.int8) {
      for (u32 col = 0; col < kColumns; col++) {
        const u32 a = rows.a[col], b = rows.b[broadcast_col ? 0 : col];
        const i64 value = op == ref::Elementwise::mul
                              ? int8_of(a, int8_mask_a(o.phase)) * int8_of(b, int8_mask_b(o.phase))
                          : op == ref::Elementwise::add ? int8_of(a, ~0u) + int8_of(b, ~0u)
                                                        : int8_of(a, ~0u) - int8_of(b, ~0u);
        add_int32(s.dst, dst_row + i, col, value, accumulate);
      }
      continue;
    }
    (avx2_available() ? elementwise_avx2 : ref::elementwise)(s.dst, dst_row + i, kind, op, rows, style, o.phase);
  }
}

}  // namespace

void exec(State& s, const Operands& o, const isa::MVMUL& i) {
  if (i.Mod19) fault(FaultKind::not_modelled, "MVMUL that broadcasts a SrcB row (bit 19)");
  multiply(s, o, "MVMUL", (i.DstRow + o.row_dst) & 0x3FF, 8);
}

void exec(State& s, const Operands& o, const isa::GAPOOL& i) {
  if (!i.Mod19 || i.MaxPoolIndexEn) fault(FaultKind::not_modelled, "GAPOOL with bit 19 clear or bit 14 set");
  multiply(s, o, "GAPOOL", (i.DstRow + o.row_dst) & 0x3FF, 4);
}

void exec(State& s, const Operands& o, const isa::ELWADD& i) {
  elementwise(s, o, ref::Elementwise::add, i.DstRow, i.Mod19, i.DestAccum);
}
void exec(State& s, const Operands& o, const isa::ELWSUB& i) {
  elementwise(s, o, ref::Elementwise::sub, i.DstRow, i.Mod19, i.DestAccum);
}

void exec(State& s, const Operands& o, const isa::ELWMUL& i) {
  if (i.DestAccum) fault(FaultKind::undefined_behaviour, "ELWMUL with bit 21 set: it always accumulates");
  elementwise(s, o, ref::Elementwise::mul, i.DstRow, i.Mod19, true);
}

}  // namespace baretile::sim
