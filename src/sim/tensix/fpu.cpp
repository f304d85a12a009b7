#include "sim/tensix/fpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "sim/fault.h"
#include "sim/tensix/fpu_simd.h"

namespace baretile::sim {
namespace {

using isa::Format;
using ref::DstKind;

// Sets of formats. ttsim takes no others here (SrcASrcB.md).
constexpr u32 set_of(std::initializer_list<Format> formats) {
  u32 bits = 0;
  for (Format f : formats) bits |= 1u << u32(f);
  return bits;
}
constexpr bool is_in(u32 set, Format f) { return set >> u32(f) & 1; }
constexpr u32 kHalf = set_of({Format::fp16, Format::fp8}), kAllMantissaBits = kHalf | set_of({Format::tf32}),
              kForProducts = set_of({Format::fp32, Format::tf32, Format::bf16, Format::bfp8, Format::bfp4}),
              kForElementwise = kForProducts | set_of({Format::bfp2});

ref::Style style_of(const char* insn, const Operands& o, u32 accepted) {
  const bool half = is_in(kHalf, o.format_a) && o.format_a == o.format_b;
  if (o.keep_src_denormals)
    fault(FaultKind::not_modelled, fmt::format("{} with ALU_ACC_CTRL_Zero_Flag_disabled_src", insn));
  if (o.int8 ? o.format_a != Format::int8 || o.format_b != Format::int8
             : !half && !(is_in(accepted, o.format_a) && is_in(accepted, o.format_b)))
    fault(FaultKind::not_modelled, fmt::format("{} with SrcA format {} and SrcB format {}{}", insn, u32(o.format_a),
                                               u32(o.format_b), o.int8 ? " (int8)" : ""));
  const auto mask_of = [](Format f) {
    return is_in(kAllMantissaBits, f) ? ref::Style::kAllBits : ref::Style::kBf16Bits;
  };
  return {half, mask_of(o.format_a), mask_of(o.format_b)};
}

[[gnu::noinline]] void refuse_rows(const char* insn, u32 dst_row, u32 dst_unit, u32 row_a, u32 a_unit, u32 row_b) {
  fault(FaultKind::not_modelled, fmt::format("{} at Dst row {}, SrcA row {}, SrcB row {}: not multiples of {}, {}, 8",
                                             insn, dst_row, row_a, row_b, dst_unit, a_unit));
}
// The units are powers of two.
inline void check_rows(const char* insn, u32 dst_row, u32 dst_unit, u32 row_a, u32 a_unit, u32 row_b) {
  if ((dst_row & (dst_unit - 1)) | (row_a & (a_unit - 1)) | (row_b & 7)) [[unlikely]]
    refuse_rows(insn, dst_row, dst_unit, row_a, a_unit, row_b);
}

// Five-bit exponents leave the three bits above them zero.
[[gnu::noinline]] void check_exponents(const char* insn, const u32 (*rows)[kColumns], u32 count) {
  u32 any = 0;
  for (u32 r = 0; r < count; r++)
    for (u32 c = 0; c < kColumns; c++) any |= rows[r][c];
  if (any & 0xE0)
    fault(FaultKind::not_modelled,
          fmt::format("{} on Src data that is not FP16: exponent bits above the fifth are set", insn));
}

DstKind dst_kind(const Operands& o, bool half) { return o.fp32 ? DstKind::fp32 : half ? DstKind::fp16 : DstKind::bf16; }

// Before an instruction writes whole rows: emptied ones get their zeros, and all their valid bits. `fresh` rows lose
// what they held. Zeros unsettle nothing.
[[gnu::noinline]] void fill_rows(Dst& dst, DstKind kind, u32 row, u32 rows, bool fresh) {
  const u64 epoch = dst.epoch;
  u32 filled = 0;
  for (u32 r = row; r < row + rows; r++) {
    const u32 high = kind == DstKind::fp32 ? Dst::high_row(r) : r;
    if (dst.valid(high) && !fresh) continue;
    std::fill_n(dst.rows[high], kColumns, u16{0});
    if (kind == DstKind::fp32) std::fill_n(dst.rows[high + 8], kColumns, u16{0});
    dst.set_valid(high);
    filled++;
  }
  dst.epoch = epoch;
  if (filled == 8) dst.settled[row / 8] = epoch;
}
inline void prepare_rows(Dst& dst, DstKind kind, u32 row, u32 rows, bool fresh) {
  if (fresh || !dst.valid_block(kind == DstKind::fp32 ? Dst::high_row(row) : row))
    fill_rows(dst, kind, row, rows, fresh);
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

[[gnu::noinline]] void set_up(State& s, const char* insn, const Operands& o) {
  const ref::Style style = style_of(insn, o, kForProducts);
  s.dst.epoch++;  // blocks settled as one kind of Dst are not as another
  s.product = {o, true, style.half, u32(dst_kind(o, style.half)), style.word_a(), style.word_b()};
}

[[gnu::noinline]] void multiply_int8(State& s, const Operands& o, u32 dst_row, u32 row_a, u32 row_b, u32 rows) {
  for (u32 i = 0; i < rows; i++)
    for (u32 col = 0; col < kColumns; col++) {
      i32 x = 0;
      for (u32 k = 0; k < 16; k++)
        x += int8_of(s.src_b[o.bank_b].rows[row_b + i][k], int8_mask_b(o.phase)) *
             int8_of(s.src_a[o.bank_a].rows[row_a + k][col], int8_mask_a(o.phase));
      add_int32(s.dst, dst_row + i, col, x, true);
    }
}

[[gnu::noinline]] void make_slices(State& s, const Operands& o, u32 row_a, u32 row_b) {
  const SrcBank &a = s.src_a[o.bank_a], &b = s.src_b[o.bank_b];
  SrcASlices& slices_a = s.slices_a[o.bank_a][o.phase & 1];
  SrcBSlices& slices_b = s.slices_b[o.bank_b][o.phase >> 1];
  const ref::Style style = ref::Style::of_words(s.product.style_a, s.product.style_b);
  if (!slices_a.hold(a, row_a, style.word_a())) s.kernels->slice_a(slices_a, a, row_a, style, o.phase & 1);
  if (!slices_b.hold(b, row_b, style.word_b())) s.kernels->slice_b(slices_b, b, row_b, style, o.phase & 2);
}

// Rows that meet SrcB rows of zeros. The others of the block become a product next, which leaves nothing to settle.
[[gnu::noinline]] void settle(State& s, u32 dst_row, u32 rows, u32 dead_rows, i32 floor) {
  for (u32 left = dead_rows; left; left &= left - 1)
    s.kernels->add_nothing[s.product.kind](s.dst, dst_row + u32(std::countr_zero(left)), floor);
  if (rows == 8) s.dst.settled[dst_row / 8] = s.dst.epoch;
}

// ELWADD, ELWSUB, ELWMUL. `mod` bit 0 broadcasts SrcB's column 0, bit 1 a row.
void elementwise(State& s, const Operands& o, ref::Elementwise op, u32 dst_row, u32 mod, bool accumulate) {
  const char* insn = op == ref::Elementwise::add ? "ELWADD" : op == ref::Elementwise::sub ? "ELWSUB" : "ELWMUL";
  const bool broadcast_col = mod & 1, broadcast_row = mod & 2;
  const u32 row_a = o.row_a & 0x3F, row_b = o.row_b & 0x3F;
  dst_row = (dst_row + o.row_dst) & 0x3FF;
  check_rows(insn, dst_row, 8, row_a, 8, row_b);
  if (op != ref::Elementwise::mul && o.phase != 0)
    fault(FaultKind::undefined_behaviour, fmt::format("{} in fidelity phase {}", insn, o.phase));
  const ref::Style style = style_of(insn, o, kForElementwise);
  const DstKind kind = dst_kind(o, style.half);
  if (style.half) {
    check_exponents(insn, s.src_a[o.bank_a].rows + row_a, 8);
    check_exponents(insn, s.src_b[o.bank_b].rows + row_b, broadcast_row ? 1 : 8);
  }
  if (!o.int8) prepare_rows(s.dst, kind, dst_row, 8, !accumulate);
  s.dst.epoch++;
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
    if (s.kernels)
      s.kernels->elementwise[u32(kind)](s.dst, dst_row + i, op, rows, style, o.phase);
    else
      ref::elementwise(s.dst, dst_row + i, kind, op, rows, style, o.phase);
  }
}

}  // namespace

void multiply(State& s, const Operands& o, const char* insn, u32 dst_row, u32 rows) {
  const SrcBank &a = s.src_a[o.bank_a], &b = s.src_b[o.bank_b];
  const u32 row_a = o.row_a & 0x3F, row_b = o.row_b & 0x3F;
  check_rows(insn, dst_row, rows, row_a, 16, row_b);
  const ProductSetup& setup = s.product;
  if (!setup.serves(o)) [[unlikely]]
    set_up(s, insn, o);
  if (o.int8) [[unlikely]]
    return multiply_int8(s, o, dst_row, row_a, row_b, rows);
  if (setup.half) [[unlikely]] {
    check_exponents(insn, a.rows + row_a, 16);
    check_exponents(insn, b.rows + row_b, rows);
  }
  prepare_rows(s.dst, DstKind(setup.kind), dst_row, rows, false);
  if (!s.kernels) [[unlikely]]
    return ref::multiply(s.dst, dst_row, DstKind(setup.kind), a, row_a, b, row_b, rows,
                         ref::Style::of_words(setup.style_a, setup.style_b), o.phase);
  const SrcASlices& slices_a = s.slices_a[o.bank_a][o.phase & 1];
  const SrcBSlices& slices_b = s.slices_b[o.bank_b][o.phase >> 1];
  if (!slices_a.hold(a, row_a, setup.style_a) || !slices_b.hold(b, row_b, setup.style_b)) [[unlikely]]
    make_slices(s, o, row_a, row_b);
  const i32 floor = ref::zero_exponent(setup.half, o.phase);
  const u32 all = (1u << rows) - 1, live = u32(slices_b.live_rows >> row_b) & all;
  if (live != all && (setup.half || s.dst.settled[dst_row / 8] != s.dst.epoch)) [[unlikely]]
    settle(s, dst_row, rows, all & ~live, floor);
  if (live) s.kernels->multiply[setup.kind](s.dst, dst_row, slices_a, row_a, slices_b, row_b, live, floor);
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
