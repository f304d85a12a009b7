// PACR: rows of Dst to L1 (Packers/*.md; one packer with four row interfaces on Blackhole, as ttsim has it).
#include "sim/tensix/packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "sim/fault.h"
#include "sim/tensix/float_bits.h"
#include "sim/tensix/units.h"

namespace baretile::sim {
namespace {

using isa::Format;
namespace cfg = isa::cfg;

constexpr u32 kMaxDatums = 4 * kColumns;

[[noreturn]] void refuse(std::string what) { fault(FaultKind::not_modelled, "PACR " + what); }

void check_instruction(const isa::PACR& i) {
  if (i.Flush || i.CtxtCtrl || i.OvrdThreadId || i.ZeroWrite || i.AddrCntContext || i.DstAccessMode || i.RowPadZero ||
      i.CfgContext)
    refuse(fmt::format("with {}", i.Flush            ? "Flush"
                                  : i.CtxtCtrl       ? "CtxtCtrl"
                                  : i.OvrdThreadId   ? "OvrdThreadId"
                                  : i.ZeroWrite      ? "ZeroWrite"
                                  : i.AddrCntContext ? "AddrCntContext"
                                  : i.DstAccessMode  ? "DstAccessMode"
                                  : i.RowPadZero     ? "RowPadZero"
                                                     : "CfgContext"));
}

constexpr isa::Field kMustBeZero[] = {
    cfg::PCK0_ADDR_BASE_REG_1_Base,
    cfg::PACK_COUNTERS_SEC0_pack_yz_transposed,
    cfg::PCK_EDGE_MODE_mode,
    cfg::THCON_SEC0_REG1_Row_start_section_size,
    cfg::THCON_SEC0_REG1_Add_l1_dest_addr_offset,
    cfg::THCON_SEC0_REG1_Dis_shared_exp_assembler,
    cfg::THCON_SEC0_REG1_Auto_set_last_pacr_intf_sel,
    cfg::THCON_SEC0_REG1_Enable_out_fifo,
    cfg::THCON_SEC0_REG1_Sub_l1_tile_header_size,
    cfg::THCON_SEC0_REG1_Source_interface_selection,
    cfg::THCON_SEC0_REG1_pack_start_intf_pos,
    cfg::THCON_SEC0_REG1_Add_tile_header_size,
    cfg::THCON_SEC0_REG1_Downsample_mask,
    cfg::THCON_SEC0_REG1_Downsample_rate,
    cfg::THCON_SEC0_REG1_Exp_threshold_en,
    cfg::DEST_TARGET_REG_CFG_PACK_SEC0_ZOffset,
};

// The same fields as one mask a word, so that the usual case is a few tests.
struct ZeroMask {
  u32 word = 0, mask = 0;
};
constexpr auto kZeroMasks = [] {
  std::array<ZeroMask, std::size(kMustBeZero)> masks{};
  for (isa::Field f : kMustBeZero)
    for (ZeroMask& m : masks)
      if (m.mask == 0 || m.word == f.word) {
        m = {f.word, m.mask | f.mask()};
        break;
      }
  return masks;
}();

void check_zero_fields(const u32* words) {
  for (const ZeroMask& m : kZeroMasks)
    if (words[m.word] & m.mask) [[unlikely]]
      for (isa::Field f : kMustBeZero) require_zero(words, f);
}

// One PACR, resolved from configuration and counters.
struct Job {
  PackMode mode;
  u32 row, interfaces, per_row;  // first Dst row, mask of the rows read, datums of each
  bool read32, integer;
};

u32 first_row(const u32* words, const AdcChannel& from, u32 datum_bytes) {
  const u32 x_stride = cfg::PCK0_ADDR_CTRL_XY_REG_0_Xstride.get(words[12]),
            y_stride = cfg::PCK0_ADDR_CTRL_XY_REG_0_Ystride.get(words[12]);
  const u32 z_stride = cfg::PCK0_ADDR_CTRL_ZW_REG_0_Zstride.get(words[13]),
            w_stride = cfg::PCK0_ADDR_CTRL_ZW_REG_0_Wstride.get(words[13]);
  if ((x_stride | y_stride | z_stride | w_stride) & (datum_bytes - 1))
    fault(FaultKind::undefined_behaviour,
          fmt::format("PACR with strides ({}, {}, {}, {}) that are not multiples of {} bytes", x_stride, y_stride,
                      z_stride, w_stride, datum_bytes));
  if (from.x) refuse(fmt::format("with channel 0 X = {}", from.x));
  const u32 datum = (from.y * y_stride + from.z * z_stride + from.w * w_stride) / datum_bytes;
  if (datum % kColumns) refuse(fmt::format("from datum {} of Dst, which is not the start of a row", datum));
  return (datum / kColumns + cfg::DEST_TARGET_REG_CFG_PACK_SEC0_Offset.get(words[180])) & (kDstRows - 1);
}

// Whether the edge mask of the tile's row keeps it; only all or nothing is modelled, as in ttsim (EdgeMasking.md).
bool edge_keeps(const u32* words, u32 tile_row) {
  const u32 set = cfg::PCK_EDGE_TILE_ROW_SET_SELECT_select.get(words[24]) & 3;
  if (set > 1) refuse(fmt::format("with PCK_EDGE_TILE_ROW_SET_SELECT {}; 0 and 1 are modelled", set));
  const u32 mapping = words[20 + set] >> 2 * (tile_row & 15) & 3;
  if (mapping > 1)
    refuse(fmt::format("with edge mask {} chosen for row {}; 0 and 1 are modelled", mapping, tile_row & 15));
  const u32 mask = words[24 + mapping] & 0xFFFF;
  if (mask != 0 && mask != 0xFFFF) refuse(fmt::format("with edge mask {:#x}; 0 and 0xffff are modelled", mask));
  return mask;
}

void check_rounding(const u32* words, const Job& job, u32 in, u32 out) {
  const bool round = cfg::PCK_DEST_RD_CTRL_Round_10b_mant.get(words[18]);
  if (round != (job.mode.early == EarlyConversion::tf32_of_fp32))
    refuse(fmt::format("from format {} to {} with Round_10b_mant = {}", in, out, round));
}

// What ttsim refuses only once it converts a datum that no edge mask replaces.
void check_conversion(const u32* words, const Job& job) {
  const bool raw_has_no_effect = job.mode.early == EarlyConversion::fp32 ||
                                 job.mode.early == EarlyConversion::tf32_of_fp32 ||
                                 job.mode.late == LateConversion::int32 || job.mode.late == LateConversion::int16;
  if (cfg::PCK_DEST_RD_CTRL_Read_int8.get(words[18]) && !raw_has_no_effect) refuse("with Read_int8 (raw)");
  if (job.mode.late == LateConversion::fp8 && !cfg::THCON_SEC0_REG1_Pac_LF8_4b_exp.get(words[71]))
    refuse("to format 10 without Pac_LF8_4b_exp");
}

Job resolve(TensixUnits& u, u32 thread, const isa::PACR& i) {
  check_instruction(i);
  const u32* words = u.config.bank(thread);
  check_zero_fields(words);
  if (const u32 reads = cfg::PACK_COUNTERS_SEC0_pack_reads_per_xy_plane.get(words[28]); reads != 16)
    refuse(fmt::format("with pack_reads_per_xy_plane = {}; 16 is modelled", reads));
  const auto in = Format(cfg::THCON_SEC0_REG1_In_data_format.get(words[70])),
             out = Format(cfg::THCON_SEC0_REG1_Out_data_format.get(words[70]));
  if (const u32 intermediate = cfg::ALU_FORMAT_SPEC_REG2_Dstacc.get(words[1]); intermediate != u32(in))
    fault(FaultKind::undefined_behaviour,
          fmt::format("PACR with In_data_format {} but ALU_FORMAT_SPEC_REG2_Dstacc {}; they must agree", u32(in),
                      intermediate));

  Job job{};
  job.read32 = cfg::PCK_DEST_RD_CTRL_Read_32b_data.get(words[18]);
  job.mode = pack_mode(job.read32, in, out);
  if (job.mode.early == EarlyConversion::none)
    refuse(fmt::format("from format {} to {} with Read_32b_data = {}", u32(in), u32(out), job.read32));
  check_rounding(words, job, u32(in), u32(out));
  job.integer = job.mode.early >= EarlyConversion::int32;

  const Adc& adc = u.adc[thread].unit[2];
  if (adc.channel[1].z || adc.channel[1].w)
    refuse(fmt::format("with channel 1 Z = {}, W = {}", adc.channel[1].z, adc.channel[1].w));
  job.row = first_row(words, adc.channel[0], (u32(in) & 3) == 0 ? 4 : (u32(in) & 3) == 1 ? 2 : 1);
  job.interfaces = i.ReadIntfSel ? i.ReadIntfSel : 15;
  if (!(1u << i.ReadIntfSel & (1u << 0 | 1u << 1 | 1u << 3 | 1u << 5 | 1u << 7 | 1u << 10 | 1u << 15)))
    refuse(fmt::format("with read interface mask {}; 0, 1, 3, 5, 7, 10 and 15 are modelled", i.ReadIntfSel));
  job.per_row = adc.channel[1].x + 1;
  if (job.per_row != 16 && !(job.per_row == 8 && i.ReadIntfSel == 1 && !(u32(out) & 2)))
    refuse(fmt::format("of {} datums a row with interface mask {}", job.per_row, i.ReadIntfSel));
  return job;
}

// The datums of every row read, zeros where a row is empty or masked; `kept` says whether any is not masked.
u32 read_dst(const Dst& dst, const u32* words, const Job& job, u32 tile_datums, u32* out, bool& kept) {
  u32 count = 0;
  for (u32 k = 0; k < 4; k++) {
    if (!(job.interfaces >> k & 1)) continue;
    const u32 row = (job.row + k) & (kDstRows - 1);
    const bool keep = edge_keeps(words, (tile_datums + count) / kColumns);
    kept |= keep;
    if (!keep || !dst.valid(job.read32 ? Dst::high_row(row) : row)) {
      std::fill_n(out + count, job.per_row, 0u);
    } else if (job.read32) {
      const u16 *high = dst.rows[Dst::high_row(row)], *low = dst.rows[Dst::high_row(row) + 8];
      for (u32 c = 0; c < job.per_row; c++) out[count + c] = u32{high[c]} << 16 | low[c];
    } else {
      for (u32 c = 0; c < job.per_row; c++) out[count + c] = dst.rows[row][c];
    }
    count += job.per_row;
  }
  return count;
}

void write_block(u8* l1, u32 addr, const u8* bytes, u32 count) {
  if (u64{addr} + count > kL1Bytes)
    fault(FaultKind::bad_address, fmt::format("PACR writes L1 at {:#x}, past its end", addr));
  std::memcpy(l1 + addr, bytes, count);
}

void append(u8* l1, PackStream& s, const u8* bytes, u32 count) {
  if (!s.filled) {
    const u32 whole = count & ~15u;
    write_block(l1, s.addr, bytes, whole);
    s.addr += whole;
    bytes += whole;
    count -= whole;
  }
  while (count) {
    const u32 n = std::min(count, 16 - s.filled);
    std::memcpy(s.block + s.filled, bytes, n);
    s.filled += n;
    bytes += n;
    count -= n;
    if (s.filled < 16) return;
    write_block(l1, s.addr, s.block, 16);
    s.addr += 16;
    s.filled = 0;
  }
}

template <class T, class Add>
void accumulate_each(const u8* old_bytes, u8* bytes, u32 size, Add add) {
  for (u32 b = 0; b < size; b += sizeof(T)) {
    T old, value;
    std::memcpy(&old, old_bytes + b, sizeof(T));
    std::memcpy(&value, bytes + b, sizeof(T));
    value = T(add(old, value));
    std::memcpy(bytes + b, &value, sizeof(T));
  }
}

// Pack_L1_Acc: what is in L1 plus the new values.
void accumulate(const u8* l1, u32 addr, LateConversion late, u8* bytes, u32 size) {
  if (u64{addr} + size > kL1Bytes)
    fault(FaultKind::bad_address, fmt::format("PACR accumulates onto L1 at {:#x}, past its end", addr));
  switch (late) {
    case LateConversion::fp32:
      return accumulate_each<u32>(l1 + addr, bytes, size, add_fp32);
    case LateConversion::bf16:
      return accumulate_each<u16>(l1 + addr, bytes, size, add_bf16);
    case LateConversion::fp16:
      return accumulate_each<u16>(l1 + addr, bytes, size, add_fp16);
    default:
      refuse("with Pack_L1_Acc to a format other than fp32, bf16 and fp16");
  }
}

void flush(u8* l1, PackStream& s) {
  if (!s.filled) return;
  std::memset(s.block + s.filled, 0, 16 - s.filled);
  write_block(l1, s.addr, s.block, 16);
  s.filled = 0;
}

void start_tile(PackOutput& output, const u32* words, u32 out_y) {
  const u32 y_offset = out_y * cfg::PCK0_ADDR_CTRL_XY_REG_1_Ystride.get(words[14]) &
                       ~15u;  // bytes on ttsim, where the Wormhole page has units of 16
  const u32 addr = ((cfg::THCON_SEC0_REG1_L1_Dest_addr.get(words[69]) & 0x1FFFFFF) + 1) * 16 + y_offset;
  const bool has_exponents = cfg::THCON_SEC0_REG1_Out_data_format.get(words[70]) & 2;
  output.exponents = {addr, 0, {}};
  output.data = {addr + (has_exponents ? cfg::THCON_SEC0_REG1_Exp_section_size.get(words[68]) * 16 : 0), 0, {}};
  output.needs_address = false;
  output.datums = 0;
}

void apply_relu_of(const u32* words, const Job& job, u32* values, u32 count) {
  const u32 mode = cfg::STACC_RELU_ApplyRelu.get(words[2]), threshold = cfg::STACC_RELU_ReluThreshold.get(words[2]);
  if (!mode) return;
  if (threshold & 0x8000)
    fault(FaultKind::undefined_behaviour, fmt::format("PACR with ReLU and a negative threshold ({:#x})", threshold));
  if (mode > 3 || (job.integer && (mode != 1 || job.mode.late != LateConversion::int32)))
    refuse(fmt::format("with ReLU mode {} on this format", mode));
  const bool short_exponent = job.mode.early == EarlyConversion::fp16 || job.mode.early == EarlyConversion::e5m6;
  if (mode > 1 && threshold && !(threshold & (short_exponent ? 0x7C00 : 0x7F80)))
    refuse(fmt::format("with a denormal ReLU threshold ({:#x})", threshold));
  apply_relu(mode, short_exponent ? fp32_of_fp16(threshold) : threshold << 16, job.integer, values, count);
}

void advance(Adc& adc, u32 mode) {
  namespace thd = isa::thd;
  const auto set_y = [](AdcChannel& c, u32 increment, bool cr, bool clear) {
    if (clear)
      c.y = c.y_cr = 0;
    else if (cr)
      c.y = c.y_cr = (c.y_cr + increment) & 0x1FFF;
    else
      c.set_y(c.y + increment);
  };
  const auto set_z = [](AdcChannel& c, u32 increment, bool clear) {
    if (clear)
      c.z = c.z_cr = 0;
    else
      c.set_z(c.z + increment);
  };
  if (thd::ADDR_MOD_PACK_SEC0_YdstCR.get(mode)) refuse("with YdstCR in its address mode");
  set_y(adc.channel[0], thd::ADDR_MOD_PACK_SEC0_YsrcIncr.get(mode), thd::ADDR_MOD_PACK_SEC0_YsrcCR.get(mode),
        thd::ADDR_MOD_PACK_SEC0_YsrcClear.get(mode));
  set_y(adc.channel[1], thd::ADDR_MOD_PACK_SEC0_YdstIncr.get(mode), false, thd::ADDR_MOD_PACK_SEC0_YdstClear.get(mode));
  set_z(adc.channel[0], thd::ADDR_MOD_PACK_SEC0_ZsrcIncr.get(mode), thd::ADDR_MOD_PACK_SEC0_ZsrcClear.get(mode));
  set_z(adc.channel[1], thd::ADDR_MOD_PACK_SEC0_ZdstIncr.get(mode), thd::ADDR_MOD_PACK_SEC0_ZdstClear.get(mode));
}

}  // namespace

bool execute(TensixUnits& u, u32 thread, const isa::PACR& i) {
  const Job job = resolve(u, thread, i);
  const u32* words = u.config.bank(thread);
  PackOutput& output = u.pack_output;
  if (output.needs_address) start_tile(output, words, u.adc[thread].unit[2].channel[1].y);

  alignas(64) u32 bits[kMaxDatums], values[kMaxDatums];
  bool kept = false;
  const u32 count = read_dst(u.state.dst, words, job, output.datums, bits, kept);
  output.datums += count;
  if (kept) {
    check_conversion(words, job);
    convert_early(job.mode.early, bits, count, values, cfg::PCK_DEST_RD_CTRL_Read_unsigned.get(words[18]));
    apply_relu_of(words, job, values, count);
  } else {
    std::fill_n(values, count, 0u);
  }

  alignas(64) u8 bytes[kMaxDatums * 4], exponents[4];
  const bool bfp = job.mode.late == LateConversion::bfp8 || job.mode.late == LateConversion::bfp4 ||
                   job.mode.late == LateConversion::bfp2;
  u32 size = 0;
  if (!bfp) {
    size = convert_late(job.mode.late, values, count, bytes, nullptr);
  } else {
    for (u32 d = 0; d < count; d += 16)
      size += convert_late(job.mode.late, values + d, std::min(16u, count - d), bytes + size, exponents + d / 16);
    append(u.l1, output.exponents, exponents, u32(ceil_div(count, 16)));
  }
  if (cfg::THCON_SEC0_REG1_Pack_L1_Acc.get(words[71]))
    accumulate(u.l1, output.data.addr + output.data.filled, job.mode.late, bytes, size);
  append(u.l1, output.data, bytes, size);
  if (i.Last) {
    flush(u.l1, output.data);
    flush(u.l1, output.exponents);
    output.needs_address = true;
  }
  advance(u.adc[thread].unit[2], u.config.thread_word(thread, 37 + i.AddrMod));
  return true;
}

}  // namespace baretile::sim
