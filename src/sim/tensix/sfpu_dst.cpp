// SFPLOAD, SFPSTORE and SFPLOADI: between Dst, immediates and LReg.
#include "sim/tensix/sfpu.h"
#include "sim/tensix/sfpu_lanes.h"

namespace baretile::sim {
namespace {

enum Mod0 : u32 {
  kAuto = 0,
  kFp16 = 1,  // only by way of kAuto
  kBf16 = 2,
  kFp32 = 3,
  kInt32 = 4,
  kUint16 = 6,
  kHi16 = 7,
  kLo16 = 9,
  kInt32Sm = 12,
  kLo16Only = 14,
  kHi16Only = 15
};

// Mode 0 goes by the configuration.
u32 resolve(std::string_view insn, const Operands& o, u32 mode) {
  using isa::Format;
  if (mode == kFp16) refuse(insn, "mode", mode);
  if (mode != kAuto) return mode;
  if (o.sfpu_fp32) return kFp32;
  if (o.configured_b == Format::fp16) return kFp16;
  for (const Format f : {Format::fp32, Format::bf16, Format::bfp8, Format::bfp4, Format::int16})
    if (o.configured_b == f) return kBf16;
  refuse(insn, "mode 0 with SrcB format", u32(o.configured_b));
}

// Four rows of Dst and the parity of the columns, from an address of the instruction plus counters.
struct Place {
  u32 row, parity;
};
Place place_of(std::string_view insn, const Operands& o, u32 addr) {
  addr = (addr + o.row_dst) & 0x3FF;
  if (addr & 1) refuse(insn, "at the odd address", addr);
  return {addr & ~3u, addr >> 1 & 1};
}

Lanes read(const Dst& dst, Place place, bool wide) {
  Lanes raw{};
  for (u32 r = 0; r < 4; r++) {
    const u32 high = wide ? Dst::high_row(place.row + r) : place.row + r;
    if (!dst.valid(high)) continue;
    const u16 *upper = dst.rows[high] + place.parity, *lower = wide ? dst.rows[high + 8] + place.parity : nullptr;
    for (u32 i = 0; i < 8; i++) raw.lane[8 * r + i] = wide ? u32{upper[2 * i]} << 16 | lower[2 * i] : upper[2 * i];
  }
  return raw;
}

void write(Dst& dst, Place place, bool wide, const Lanes& enabled, const Lanes& value) {
  for (u32 r = 0; r < 4; r++) {
    const u32 high = wide ? Dst::high_row(place.row + r) : place.row + r;
    u16 *upper = dst.rows[high] + place.parity, *lower = wide ? dst.rows[high + 8] + place.parity : nullptr;
    bool any = false;
    for (u32 i = 0; i < 8; i++) {
      if (!enabled.lane[8 * r + i]) continue;
      const u32 v = value.lane[8 * r + i];
      upper[2 * i] = u16(wide ? v >> 16 : v);
      if (wide) lower[2 * i] = u16(v);
      any = true;
    }
    if (any) dst.set_valid(high);
  }
}

u32 flush_denormal(u32 x) { return select(mask_if((x & 0x7F800000) == 0), x & 0x80000000, x); }

u32 fp32_of_fp16(u32 x) {  // denormals stay denormals of the wider kind (SFPLOAD.md ReadFP16)
  const u32 exponent = x >> 10 & 0x1F;
  return (x & 0x8000) << 16 | select(mask_if(exponent == 0), 0, (exponent + 112) << 23) | (x & 0x3FF) << 13;
}

u32 fp16_of_fp32(u32 x) {  // truncates; too large becomes the largest, too small zero (SFPSTORE.md ToFP16)
  const i32 exponent = i32(x >> 23 & 0xFF) - 112;
  const u32 normal = u32(exponent) << 10 | (x >> 13 & 0x3FF);
  return (x >> 16 & 0x8000) | select(mask_if(exponent <= 0), 0, select(mask_if(exponent > 31), 0x7FFF, normal));
}

}  // namespace

void exec(State& state, const Operands& o, const isa::SFPLOAD& i) {
  Sfpu& s = state.sfpu;
  const u32 mode = resolve("SFPLOAD", o, i.Mod0);
  if (i.VD >= 12) refuse("SFPLOAD", "with destination LReg", i.VD);
  if (i.VD >= 8) return;  // reads, but has nowhere to put it
  const bool wide = mode == kFp32 || mode == kInt32 || mode == kInt32Sm;
  const Lanes raw = read(state.dst, place_of("SFPLOAD", o, i.Addr), wide);
  switch (mode) {
    case kFp16:
      return assign(
          s, i.VD, [](u32 d) { return fp32_of_fp16(fp16_of_dst(u16(d))); }, raw);
    case kBf16:
      return assign(
          s, i.VD, [](u32 d) { return u32{bf16_of_dst(u16(d))} << 16; }, raw);
    case kFp32:
    case kInt32:
    case kInt32Sm:
      return assign(
          s, i.VD, [](u32 d) { return fp32_of_dst(d); }, raw);
    case kUint16:
      return assign(
          s, i.VD, [](u32 d) { return d; }, raw);
    case kLo16Only:
      return assign(
          s, i.VD, [](u32 d, u32 old) { return (old & 0xFFFF0000) | d; }, raw, s.lreg[i.VD]);
    case kHi16Only:
      return assign(
          s, i.VD, [](u32 d, u32 old) { return (old & 0xFFFF) | d << 16; }, raw, s.lreg[i.VD]);
    default:
      refuse("SFPLOAD", "mode", i.Mod0);
  }
}

void exec(State& state, const Operands& o, const isa::SFPSTORE& i) {
  const Sfpu& s = state.sfpu;
  const Place place = place_of("SFPSTORE", o, i.Addr);
  const auto store = [&](bool wide, auto f) { write(state.dst, place, wide, s.enabled, map(f, s.lreg[i.VD])); };
  if (i.VD >= 12) refuse("SFPSTORE", "of LReg", i.VD);
  switch (resolve("SFPSTORE", o, i.Mod0)) {
    case kFp16:
      return store(false, [](u32 x) { return u32{dst_of_fp16(u16(fp16_of_fp32(x)))}; });
    case kBf16:
      return store(false, [](u32 x) { return u32{dst_of_bf16(u16(flush_denormal(x) >> 16))}; });
    case kFp32:
      return store(true, [](u32 x) { return dst_of_fp32(flush_denormal(x)); });
    case kInt32:
    case kInt32Sm:
      return store(true, [](u32 x) { return dst_of_fp32(x); });
    case kUint16:
    case kLo16Only:
      return store(false, [](u32 x) { return x & 0xFFFF; });
    case kHi16Only:
      return store(false, [](u32 x) { return x >> 16; });
    case kHi16:
      return store(true, [](u32 x) { return x; });
    case kLo16:
      return store(true, [](u32 x) { return x << 16 | x >> 16; });
    default:
      refuse("SFPSTORE", "mode", i.Mod0);
  }
}

void exec(State& state, const Operands&, const isa::SFPLOADI& i) {
  Sfpu& s = state.sfpu;
  const u32 imm = i.Imm16;
  u32 value = 0, keep = 0;  // keep: bits of the register left as they are
  switch (i.Mod0) {
    case 0:
      value = imm << 16;
      break;
    case 1:
      value = (imm & 0x8000) << 16 | ((imm >> 10 & 0x1F) + 112) << 23 | (imm & 0x3FF) << 13;
      break;
    case 2:
      value = imm;
      break;
    case 4:
      value = u32(i32(imm << 16) >> 16);
      break;
    case 8:
      value = imm << 16, keep = 0xFFFF;
      break;
    case 10:
      value = imm, keep = 0xFFFF0000;
      break;
    default:
      refuse("SFPLOADI", "mode", i.Mod0);
  }
  assign(
      s, i.VD, [=](u32 old) { return (old & keep) | value; }, s.lreg[i.VD & 7]);
}

}  // namespace baretile::sim
