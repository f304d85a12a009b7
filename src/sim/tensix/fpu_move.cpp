// Moves between Src and Dst, transposition and clearing: MOVA2D, MOVB2D, MOVD2A, MOVD2B, MOVB2A, TRNSPSRCB, ZEROACC,
// ZEROSRC.

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "sim/tensix/fpu.h"
#include "sim/tensix/refuse.h"

namespace baretile::sim {
namespace {

using isa::Format;

bool has_short_exponent(Format f) { return f == Format::fp16 || f == Format::fp8; }

void check_format(std::string_view insn, Format f, std::initializer_list<Format> accepted) {
  if (std::find(accepted.begin(), accepted.end(), f) == accepted.end())
    fault(FaultKind::not_modelled, fmt::format("{} with SrcA format {}", insn, u32(f)));
}

// A row field plus its counter, which must be a multiple of the rows moved.
u32 aligned_row(std::string_view insn, std::string_view what, u32 row, u32 unit, u32 limit) {
  row &= limit - 1;
  if (row % unit)
    fault(FaultKind::not_modelled, fmt::format("{} at {} row {}: not a multiple of {}", insn, what, row, unit));
  return row;
}

void check_low16_to_dst(std::string_view insn, const Operands& o, u32 low16) {
  if (!low16) return;
  if (o.format_a == Format::tf32)
    fault(FaultKind::undefined_behaviour, fmt::format("{} of the low 16 bits with SrcA format tf32", insn));
  if (has_short_exponent(o.format_a))
    fault(FaultKind::not_modelled, fmt::format("{} of the low 16 bits with a five-bit exponent", insn));
}

void check_from_dst(std::string_view insn, const Operands& o, bool low16) {
  const bool wide = o.fp32 || o.int8;
  if (!wide && (low16 || o.format_a == Format::tf32))
    fault(FaultKind::undefined_behaviour,
          fmt::format("{} of {} from a 16-bit Dst", insn, low16 ? "the low 16 bits" : "tf32"));
  if (wide && has_short_exponent(o.format_a))
    fault(FaultKind::not_modelled, fmt::format("{} of FP16 from a 32-bit Dst", insn));
  if (low16 && o.format_a == Format::tf32)
    fault(FaultKind::not_modelled, fmt::format("{} of the low 16 bits as tf32", insn));
}

// SrcA's format decides how SrcB is read; ttsim mixes in SrcB's own when only that one has five-bit exponents.
void check_src_b(std::string_view insn, const Operands& o) {
  if (o.format_b == Format::fp16 && o.format_a != Format::fp16)
    fault(FaultKind::not_modelled, fmt::format("{} with SrcB format fp16 and SrcA format {}", insn, u32(o.format_a)));
}

// The bits of SrcB that MOVB2D sees: BF16's, unless the bank's own format has ten mantissa bits.
u32 src_b_mask(Format f) { return f == Format::tf32 || f == Format::fp16 ? 0x7FFFF : 0x7F8FF; }

// A Src datum as 16 bits of Dst and back: three mantissa bits or three exponent bits fall away (MOVA2D.md).
u16 narrow(u32 datum, bool short_exponent) {
  return u16(short_exponent ? (datum & 0x7FF00) >> 3 | (datum & 0x1F) : (datum & 0x7F800) >> 3 | (datum & 0xFF));
}
u32 widen(u16 value, bool short_exponent) {
  return short_exponent ? u32{value & 0xFFE0u} << 3 | (value & 0x1F) : u32{value & 0xFF00u} << 3 | (value & 0xFF);
}

// One row; `mask` keeps the bits of the datums that count.
void move_to_dst(Dst& dst, const Operands& o, u32 row, const u32 (&data)[kColumns], u32 mask, bool low16) {
  u32 datum[kColumns], value[kColumns];
  for (u32 c = 0; c < kColumns; c++) {
    datum[c] = data[c] & mask;
    if (!o.keep_src_denormals && (datum[c] & 0xFF) == 0) datum[c] = 0;
    value[c] = narrow(datum[c], has_short_exponent(o.format_a));
  }
  const bool wide = o.format_a == Format::tf32;
  const u32 high = wide || low16 ? Dst::high_row(row) : row;
  for (u32 c = 0; c < kColumns; c++) {
    if (low16 && !dst.valid(high)) dst.rows[high][c] = 0;
    if (wide || low16) dst.rows[high + 8][c] = u16(wide ? (datum[c] >> 8 & 7) << 13 : value[c]);
    if (!low16) dst.rows[high][c] = u16(value[c]);
  }
  dst.set_valid(high);
}

u32 move_from_dst(const Dst& dst, const Operands& o, u32 row, u32 col, bool low16) {
  if (!o.fp32 && !o.int8) return widen(dst.read16(row, col), has_short_exponent(o.format_a));
  const u32 value = dst.read32(row, col);
  if (o.format_a != Format::tf32) return widen(u16(low16 ? value : value >> 16), false);
  return (value >> 13 & 0x7F800) | (value >> 13 & 7) << 8 | (value >> 16 & 0xFF);
}

}  // namespace

void exec(State& s, const Operands& o, const isa::MOVA2D& i) {
  check_format("MOVA2D", o.format_a,
               {Format::fp32, Format::fp16, Format::tf32, Format::bf16, Format::bfp8, Format::bfp4, Format::int32,
                Format::int16, Format::fp8, Format::bfp2});
  check_mode("MOVA2D", i.InstrMod, {2});
  check_low16_to_dst("MOVA2D", o, i.Lo16);
  const u32 dst_row = aligned_row("MOVA2D", "Dst", i.DstRow + o.row_dst, 8, kDstRows),
            src_row = aligned_row("MOVA2D", "SrcA", i.SrcRow + o.row_a, 8, kSrcRows);
  for (u32 r = 0; r < 8; r++) move_to_dst(s.dst, o, dst_row + r, s.src_a[o.bank_a].rows[src_row + r], ~0u, i.Lo16);
}

void exec(State& s, const Operands& o, const isa::MOVB2D& i) {
  check_format("MOVB2D", o.format_a,
               {Format::fp32, Format::fp16, Format::tf32, Format::bf16, Format::bfp8, Format::bfp4, Format::int32,
                Format::int16});
  check_src_b("MOVB2D", o);
  check_mode("MOVB2D", i.InstrMod, {2, 3, 4, 5});
  check_low16_to_dst("MOVB2D", o, i.Lo16);
  const bool broadcast_col = i.InstrMod & 1, broadcast_row = i.InstrMod & 2;
  const u32 rows = broadcast_row ? 8 : 4;
  const u32 dst_row = aligned_row("MOVB2D", "Dst", i.DstRow + o.row_dst, rows, kDstRows),
            src_row = aligned_row("MOVB2D", "SrcB", i.SrcRow + o.row_b, rows, kSrcRows);
  for (u32 r = 0; r < rows; r++) {
    const auto& source = s.src_b[o.bank_b].rows[src_row + (broadcast_row ? 0 : r)];
    u32 row[kColumns];
    for (u32 c = 0; c < kColumns; c++) row[c] = source[broadcast_col ? 0 : c];
    move_to_dst(s.dst, o, dst_row + r, row, src_b_mask(o.format_b), i.Lo16);
  }
}

void exec(State& s, const Operands& o, const isa::MOVD2A& i) {
  check_format("MOVD2A", o.format_a,
               {Format::fp32, Format::fp16, Format::tf32, Format::bf16, Format::bfp8, Format::bfp4});
  check_mode("MOVD2A", i.InstrMod, {2});
  if (i.Lo16) fault(FaultKind::not_modelled, "MOVD2A of the low 16 bits");
  check_from_dst("MOVD2A", o, false);
  const u32 dst_row = aligned_row("MOVD2A", "Dst", i.DstRow + o.row_dst, 4, kDstRows),
            src_row = aligned_row("MOVD2A", "SrcA", i.SrcRow + o.row_a, 4, kSrcRows);
  SrcBank& bank = s.src_a[o.bank_a];
  for (u32 r = 0; r < 4; r++)
    for (u32 c = 0; c < kColumns; c++) bank.rows[src_row + r][c] = move_from_dst(s.dst, o, dst_row + r, c, false);
  bank.touch();
}

void exec(State& s, const Operands& o, const isa::MOVD2B& i) {
  check_format("MOVD2B", o.format_a,
               {Format::fp32, Format::fp16, Format::tf32, Format::bf16, Format::bfp8, Format::bfp4, Format::int32});
  check_src_b("MOVD2B", o);
  check_mode("MOVD2B", i.InstrMod, {0, 2});
  check_from_dst("MOVD2B", o, i.Lo16);
  const u32 rows = i.InstrMod == 2 ? 4 : 1;
  const u32 dst_row = aligned_row("MOVD2B", "Dst", i.DstRow + o.row_dst, 4, kDstRows),
            src_row = aligned_row("MOVD2B", "SrcB", i.SrcRow + o.row_b, 4, kSrcRows);
  SrcBank& bank = s.src_b[o.bank_b];
  for (u32 r = 0; r < rows; r++)
    for (u32 c = 0; c < kColumns; c++) bank.rows[src_row + r][c] = move_from_dst(s.dst, o, dst_row + r, c, i.Lo16);
  bank.touch();
}

void exec(State& s, const Operands& o, const isa::MOVB2A& i) {
  check_mode("MOVB2A", i.InstrMod, {2});
  const u32 a_row = aligned_row("MOVB2A", "SrcA", i.SrcARow + o.row_a, 4, kSrcRows),
            b_row = aligned_row("MOVB2A", "SrcB", i.SrcBRow + o.row_b, 4, kSrcRows);
  SrcBank& bank = s.src_a[o.bank_a];
  for (u32 r = 0; r < 4; r++)
    for (u32 c = 0; c < kColumns; c++) {
      const u32 datum = s.src_b[o.bank_b].rows[b_row + r][c];
      bank.rows[a_row + r][c] = !o.keep_src_denormals && (datum & 0xFF) == 0 ? 0 : datum;
    }
  bank.touch();
}

void exec(State& s, const Operands& o, const isa::TRNSPSRCB&) {
  SrcBank& bank = s.src_b[o.bank_b];
  for (u32 r = 0; r < 16; r++)
    for (u32 c = 0; c < r; c++) std::swap(bank.rows[16 + r][c], bank.rows[16 + c][r]);
  bank.touch();
}

void exec(State& s, const Operands& o, const isa::ZEROACC& i) {
  const bool wide_row = o.fp32 || o.int8;
  // Sixteen rows and single rows count from the half of Dst that the offset points to; the 32-bit view has half as many
  // blocks.
  u32 first = 0, count = kDstRows, limit = 1;
  bool wide = false;
  switch (i.ClearMode) {
    case 0:
      first = (i.Where + o.row_dst) & (kDstRows - 1), count = 1, limit = kDstRows, wide = wide_row;
      break;
    case 1:
      wide = i.Use32BitMode;
      limit = wide ? 32 : 64;
      first = 16 * ((i.Where + (wide                  ? o.dst_offset >= 256 ? 16 : 0
                                : o.dst_offset >= 512 ? 32
                                                      : 0)) &
                    (limit - 1)),
      count = 16;
      break;
    case 2:
      first = i.Where & 1 ? 512 : 0, count = 512, limit = 2;
      break;
    default:
      break;
  }
  if (i.ClearZeroFlags) fault(FaultKind::undefined_behaviour, "ZEROACC that reverts (bit 17)");
  if (i.ClearMode == 0 && i.Use32BitMode) fault(FaultKind::not_modelled, "ZEROACC of one row with the 32-bit bit set");
  if (i.Where >= limit)
    fault(FaultKind::undefined_behaviour, fmt::format("ZEROACC mode {} at {}: beyond Dst", i.ClearMode, i.Where));
  // Blocks of eight rows share a byte of valid bits, in either view.
  if (count == 1) return s.dst.invalidate(wide ? Dst::high_row(first) : first);
  for (u32 r = first; r < first + count; r += 8) s.dst.valid_bits[(wide ? Dst::high_row(r) : r) / 8] = 0;
}

// ttsim takes two forms: both registers and both banks, or the banks the matrix unit reads.
void exec(State& s, const Operands& o, const isa::ZEROSRC& i) {
  const bool everything = i.SrcMask == 3 && i.BankMask && !i.WriteMode,
             one_bank = i.SrcMask != 0 && !i.BankMask && i.WriteMode;
  if (i.ZeroVal || !(everything || one_bank))
    fault(FaultKind::not_modelled, fmt::format("ZEROSRC with masks {} and {}, write mode {}, value {}", i.SrcMask,
                                               i.BankMask, i.WriteMode, i.ZeroVal));
  const auto clear = [](SrcBank& bank) {
    std::memset(bank.rows, 0, sizeof bank.rows);
    bank.touch();
  };
  for (u32 bank = 0; bank < 2; bank++) {
    if (i.SrcMask & 1 && (everything || bank == o.bank_a)) clear(s.src_a[bank]);
    if (i.SrcMask & 2 && (everything || bank == o.bank_b)) clear(s.src_b[bank]);
  }
}

}  // namespace baretile::sim
