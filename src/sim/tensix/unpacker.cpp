// UNPACR and UNPACR_NOP (UNPACR_Regular.md, UNPACR_NOP_ZEROSRC.md): MultiContextMode, contexts 0 and 1, uncompressed
// data only.
#include "sim/tensix/unpacker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/fault.h"
#include "sim/tensix/units.h"

namespace baretile::sim {
namespace {

using isa::Format;
namespace cfg = isa::cfg;

// Configuration of unpacker 0; unpacker 1's words are 48 higher.
constexpr u32 kUnit1 = 112 - 64;

u32 datum_bits(Format f) {
  switch (f) {
    case Format::fp32:
    case Format::tf32:
    case Format::int32:
      return 32;
    case Format::fp16:
    case Format::bf16:
    case Format::int16:
      return 16;
    case Format::bfp4:
    case Format::bfp4a:
      return 4;
    case Format::bfp2:
    case Format::bfp2a:
      return 2;
    default:
      return 8;
  }
}
// Tilize takes 32 datums of every input row, or 16 of 8 bits (measured on ttsim).
constexpr u32 tilize_width(u32 bits) { return bits == 8 ? 16 : 32; }
bool is_bfp(Format f) { return f == Format::bfp8 || f == Format::bfp4 || f == Format::bfp2; }

[[noreturn]] void refuse(u32 unit, std::string what) {
  fault(FaultKind::not_modelled, fmt::format("UNPACR of unpacker {} {}", unit, what));
}

// One UNPACR, resolved from configuration and counters.
struct Job {
  u32 unit, bits, row;
  bool to_dst, transpose, tilize;
  Format out;
  Conversion conversion;
  DatumRun run;
  u32 row_stride;  // tilize: bytes from one input row to the next
};

void check_instruction(u32 unit, const isa::UNPACR& i) {
  if (!i.OvrdThreadId) refuse(unit, "without OvrdThreadId (MultiContextMode)");
  if (!i.Last) refuse(unit, "with Last clear");
  if (i.SearchCacheFlush || i.RowSearch || i.AutoIncContextId || i.ZeroWrite2 || i.SrcbBcast || i.AddrCntContextId ||
      i.CfgContextId || i.CfgContextCntInc)
    refuse(unit, fmt::format("with {}", i.SearchCacheFlush   ? "SearchCacheFlush"
                                        : i.RowSearch        ? "RowSearch"
                                        : i.AutoIncContextId ? "AutoIncContextId"
                                        : i.ZeroWrite2       ? "ZeroWrite2"
                                        : i.SrcbBcast        ? "SrcbBcast"
                                        : i.AddrCntContextId ? "AddrCntContextId"
                                        : i.CfgContextId     ? "CfgContextId"
                                                             : "CfgContextCntInc"));
}

// Bits of word 72 or 120 that must be zero; named one by one only when some are not.
void check_mode_fields(const u32* words, u32 unit) {
  constexpr isa::Field kMustBeZero[] = {cfg::THCON_SEC0_REG2_Ovrd_data_format, cfg::THCON_SEC0_REG2_Upsample_rate,
                                        cfg::THCON_SEC0_REG2_Upsample_and_interleave};
  constexpr u32 kMask = kMustBeZero[0].mask() | kMustBeZero[1].mask() | kMustBeZero[2].mask();
  constexpr u32 kUnit1Mask = cfg::THCON_SEC1_REG2_Haloize_mode.mask() | cfg::THCON_SEC1_REG2_Tileize_mode.mask();
  const u32 mode = words[72 + unit * kUnit1];
  if (!(mode & (unit ? kMask | kUnit1Mask : kMask))) return;
  for (isa::Field f : kMustBeZero) {
    f.word += unit * kUnit1;
    require_zero(words, f);
  }
  require_zero(words, cfg::THCON_SEC1_REG2_Haloize_mode);
  require_zero(words, cfg::THCON_SEC1_REG2_Tileize_mode);
}

// Row of Src or Dst the first datum goes to (unpacker 0 skips four rows).
u32 output_row(const u32* words, const AdcChannel& out, const Job& job, u32 context) {
  if (out.w) refuse(job.unit, fmt::format("with channel 1 W = {}", out.w));
  const u32 y_stride = job.unit ? 0 : cfg::UNP0_ADDR_CTRL_XY_REG_1_Ystride.get(words[56]);
  const u32 zw = words[job.unit ? 59 : 57];
  const u32 out_bits = datum_bits(job.out),
            log_bytes = out_bits == 32   ? 2
                        : out_bits == 16 ? 1
                                         : 0,
            unit_bytes = 1u << log_bytes;
  if ((y_stride | zw | zw >> 16) & (unit_bytes - 1))
    refuse(job.unit, fmt::format("with an output stride ({}, {}, {}) that is not a multiple of {} bytes", y_stride,
                                 zw & 0xFFFF, zw >> 16, unit_bytes));
  u32 addr = (out.y * y_stride + out.z * (zw & 0xFFFF)) >> log_bytes;
  if (!job.unit) {
    const u32 of_context = words[cfg::THCON_SEC0_REG5_Dest_cntx0_address.word] >> 16 * context & 0xFFFF;
    addr =
        job.to_dst || cfg::UNP0_ADD_DEST_ADDR_CNTR_add_dest_addr_cntr.get(words[50]) ? addr + of_context : of_context;
    if (addr < 64) refuse(0, fmt::format("to datum address {}, inside the four rows it skips", addr));
    addr -= 64;
  }
  if (addr % 16) refuse(job.unit, fmt::format("to datum address {}, which is not the start of a row", addr));
  return addr / 16;
}

Job resolve(TensixUnits& u, u32 thread, const isa::UNPACR& i) {
  const u32 unit = i.Unpacker, *words = u.config.bank(thread), base = unit * kUnit1;
  const u32 context = (u.config.thread_word(thread, 41) >> 8 * unit) & 0xF;
  if (context > 1) refuse(unit, fmt::format("of context {}; 0 and 1 are modelled", context));
  check_instruction(unit, i);
  check_mode_fields(words, unit);

  Job job{};
  job.unit = unit;
  const u32 descriptor = words[64 + base], mode = words[72 + base], per_context = words[73 + base];
  const auto in = Format(descriptor & 15);
  job.out = Format(mode & 15);
  job.bits = datum_bits(in);
  if (!(per_context >> context & 1)) refuse(unit, "of compressed data");
  job.to_dst = !unit && per_context >> (4 + context) & 1;
  job.transpose = !unit && cfg::THCON_SEC0_REG2_Haloize_mode.get(mode);
  const u32 set_base = u.config.thread_word(thread, 5);
  if (set_base & 3) refuse(unit, "with SRCA_SET_Base set");
  if ((set_base >> 2 & 1) == job.to_dst)
    refuse(unit,
           fmt::format("with SRCA_SET_SetOvrdWithAddr = {} {}", set_base >> 2 & 1, job.to_dst ? "to Dst" : "to Src"));
  if (job.to_dst && job.transpose)
    fault(FaultKind::undefined_behaviour, "UNPACR to Dst with Haloize_mode (transposition)");
  const bool is_unsigned = words[1] >> (15 + unit) & 1;
  job.conversion = conversion_of(in, job.out, job.to_dst, is_unsigned);
  if (job.conversion == Conversion::none)
    refuse(unit, fmt::format("of format {} as format {} to {}", u32(in), u32(job.out), job.to_dst ? "Dst" : "Src"));

  const Adc& adc = u.adc[thread].unit[unit];
  const AdcChannel& from = adc.channel[0];
  if (from.x > adc.channel[1].x) refuse(unit, fmt::format("of datums {} to {}", from.x, adc.channel[1].x));
  job.run.count = adc.channel[1].x + 1 - from.x;
  job.row = output_row(words, adc.channel[1], job, context);

  const u32 x_dim =
      unit ? descriptor >> 16 : words[cfg::THCON_SEC0_REG5_Tile_x_dim_cntx0.word] >> 16 * context & 0xFFFF;
  const u32 y_dim = words[65 + base] & 0xFF, z_dim = std::max(1u, words[65 + base] >> 16 & 0xFF);
  u32 first = ((from.w * z_dim + from.z) * y_dim + from.y) * x_dim + from.x;
  u64 addr = (words[76 + base + context] & 0x1FFFFFF);
  if (!unit) addr += words[92 + context] & 0xFFFF;
  addr = (addr + 1) * 16;
  job.run.first_datum = first;
  u32 whole_groups = 1;  // BFP datums are read by groups of 16
  if (is_bfp(in)) {
    if (descriptor >> 5 & 1) refuse(unit, "with NoBFPExpSection");
    job.run.exponents = u.l1 + addr;
    addr += round_up(ceil_div(u64{x_dim} * y_dim * z_dim, 16), 16);
    whole_groups = 16;
  }
  const u64 first_bit = addr * 8 + u64{first} * job.bits;
  job.tilize = !unit && cfg::THCON_SEC0_REG2_Tileize_mode.get(mode);
  if ((job.transpose || job.tilize) && first_bit % 128)
    fault(
        FaultKind::undefined_behaviour,
        fmt::format("transposing or tilizing UNPACR from L1 bit address {:#x}; it must be 16-byte aligned", first_bit));
  job.run.data = u.l1 + first_bit / 8;
  u64 end = ceil_div(addr * 8 + round_up(u64{first} + job.run.count, whole_groups) * job.bits, 8);
  if (job.tilize) {
    if (job.bits < 8) fault(FaultKind::undefined_behaviour, fmt::format("tilizing UNPACR of {}-bit datums", job.bits));
    job.row_stride = (mode >> 16 & 0xFFF) << 4;
    const u32 width = tilize_width(job.bits);
    end = first_bit / 8 + u64{(job.run.count - 1) / width} * job.row_stride + width * job.bits / 8;
  } else if (const u32 shift = mode >> (16 + 4 * context) & 0xF; !unit && shift) {
    refuse(0, fmt::format("with Shift_amount_cntx{} = {} (column shift)", context, shift));
  }
  if (end > kL1Bytes)
    fault(FaultKind::bad_address, fmt::format("UNPACR of unpacker {} reads L1 up to {:#x}, past its end", unit, end));
  return job;
}

constexpr u32 kStaged = kSrcRows * kColumns;  // datums handled at a time

// Datums first … first + count of the job, converted. `first` is a multiple of 16.
void read_datums(const Job& job, u32 first, u32 count, u32* out) {
  DatumRun run = job.run;
  run.first_datum += first;
  run.count = count;
  if (!job.tilize) {
    run.data += u64{first} * job.bits / 8;
    return convert(job.conversion, run, out);
  }
  alignas(64) u8 gathered[kStaged * 4];
  const u32 bytes = job.bits / 8, width = tilize_width(job.bits);
  for (u32 d = 0; d < count; d += 16) {
    const u32 at = first + d;
    std::memcpy(gathered + d * bytes, job.run.data + at / width * job.row_stride + at % width * bytes, 16 * bytes);
  }
  run.data = gathered;
  convert(job.conversion, run, out);
}

// SrcA takes bursts of rows, which must not be cut by a block of 16 rows (measured on ttsim).
u32 burst_rows(const Job& job) { return job.bits == 32 ? 2 : job.bits == 16 || job.bits == 2 || job.tilize ? 4 : 8; }

// Between arrays of 16 columns; in vectors of its own, as compilers move the plain loop word by word.
void transpose_4x4(const u32* in, u32* out) {
  using Row = u32 __attribute__((vector_size(16)));
  Row row[4];
  for (u32 r = 0; r < 4; r++) std::memcpy(&row[r], in + r * kColumns, sizeof(Row));
  const Row left01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
            left23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
            right01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7),
            right23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Row columns[4] = {
      __builtin_shufflevector(left01, left23, 0, 1, 4, 5), __builtin_shufflevector(left01, left23, 2, 3, 6, 7),
      __builtin_shufflevector(right01, right23, 0, 1, 4, 5), __builtin_shufflevector(right01, right23, 2, 3, 6, 7)};
  for (u32 c = 0; c < 4; c++) std::memcpy(out + c * kColumns, &columns[c], sizeof(Row));
}

// Datums in row-major order from `row` on, each 16 x 16 face transposed: whole faces at once, the rest one by one.
void transpose(SrcBank& bank, u32 row, const u32* datums, u32 count) {
  u32 k = 0;
  for (; row % 16 == 0 && k + 256 <= count; k += 256)
    for (u32 c = 0; c < 16; c += 4)
      for (u32 r = 0; r < 16; r += 4) transpose_4x4(datums + k + r * 16 + c, &bank.rows[row + k / 16 + c][r]);
  for (; k < count; k++) bank.rows[((row + k / 16) & ~15u) | k % 16][(row + k / 16) & 15] = datums[k];
}

void write_src(TensixUnits& u, const Job& job) {
  SrcBank& bank = (job.unit ? u.state.src_b : u.state.src_a)[u.sync.src[job.unit].unpack_bank];
  const u32 burst = burst_rows(job);
  if (!job.unit && job.run.count > 16 && job.row % burst)
    refuse(0, fmt::format("to row {} of SrcA: more than one row must start at a multiple of {}", job.row, burst));
  if (job.unit && job.row + ceil_div(job.run.count, 16) > kSrcRows)
    fault(FaultKind::undefined_behaviour,
          fmt::format("UNPACR to SrcB row {}; there are {}", job.row + ceil_div(job.run.count, 16) - 1, kSrcRows));
  for (u32 d = 0; d < job.run.count;) {
    const u32 row = (job.row + d / 16) % kSrcRows, count = std::min(job.run.count - d, (kSrcRows - row) * kColumns);
    if (!job.transpose) {
      read_datums(job, d, count, bank.rows[row]);
    } else {
      alignas(64) u32 staged[kStaged];
      read_datums(job, d, count, staged);
      transpose(bank, row, staged, count);
    }
    d += count;
  }
  bank.format = job.out;
  bank.touch();
}

void write_dst(TensixUnits& u, const Job& job) {
  alignas(64) u32 staged[kStaged];
  Dst& dst = u.state.dst;
  for (u32 d = 0; d < job.run.count; d += 16) {
    if (d % kStaged == 0) read_datums(job, d, std::min(job.run.count - d, kStaged), staged);
    const u32 row = job.row + d / 16, *datums = staged + d % kStaged;
    if (row >= kDstRows)
      fault(FaultKind::bad_address, fmt::format("UNPACR to Dst row {}; there are {}", row, kDstRows));
    const u32 high = Dst::high_row(row), columns = std::min(kColumns, job.run.count - d);
    for (u32 c = 0; c < columns; c++) {
      dst.rows[high][c] = u16(datums[c] >> 16);
      dst.rows[high + 8][c] = u16(datums[c]);
    }
    dst.set_valid(high);
  }
}

}  // namespace

bool execute(TensixUnits& u, u32 thread, const isa::UNPACR& i) {
  SrcSide& side = u.sync.src[i.Unpacker];
  if (!side.writable()) return false;
  const Job job = resolve(u, thread, i);
  if (job.to_dst)
    write_dst(u, job);
  else
    write_src(u, job);
  Adc& adc = u.adc[thread].unit[i.Unpacker];
  adc.channel[0].set_z(adc.channel[0].z + (i.AddrMod & 3));
  adc.channel[0].set_y(adc.channel[0].y + (i.AddrMod >> 2 & 3));
  adc.channel[1].set_z(adc.channel[1].z + (i.AddrMod >> 4 & 3));
  adc.channel[1].set_y(adc.channel[1].y + (i.AddrMod >> 6 & 3));
  if (i.SetDatValid)
    side.give_to_matrix();
  else if ((u.config.bank(thread)[72] | u.config.bank(thread)[120]) >> 10 & 1)
    refuse(i.Unpacker, "with Unpack_Src_Reg_Set_Upd");
  return true;
}

bool execute(TensixUnits& u, u32, const isa::UNPACR_NOP& i) {
  if (i.UnpackPop != 1 || i.SrcClrValCtrl > 1 - i.Unpacker || i.BankClrCtrl || i.ClrTo1FmtCtrl || i.MsgClrCnt ||
      i.StreamId)
    fault(FaultKind::not_modelled,
          "UNPACR_NOP other than clearing one Src bank (UnpackPop 1, no BankClrCtrl, ClrTo1FmtCtrl, MsgClrCnt or "
          "StreamId)");
  SrcSide& side = u.sync.src[i.Unpacker];
  if (side.valid[i.StallClrCntrl ? side.unpack_bank : side.matrix_bank]) return false;
  SrcBank& bank = (i.Unpacker ? u.state.src_b : u.state.src_a)[side.unpack_bank];
  std::fill_n(&bank.rows[0][0], kSrcRows * kColumns, i.SrcClrValCtrl ? 0x7FFFFu : 0u);
  bank.touch();
  if (i.SetDvalid) side.give_to_matrix();
  return true;
}

}  // namespace baretile::sim
