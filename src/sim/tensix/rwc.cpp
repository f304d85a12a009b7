#include "sim/tensix/rwc.h"

#include <fmt/format.h>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

constexpr u32 kDstMask = 0x3FF, kSrcMask = 0x3F;

// SrcA or SrcB half of ADDR_MOD_AB: increment, CR, clear.
void step_src(u32& row, u32& cr, u32 mode) {
  if (mode & 0x80)
    row = cr = 0;
  else if (mode & 0x40)
    row = cr = (cr + (mode & 0x3F)) & kSrcMask;
  else
    row = (row + (mode & 0x3F)) & kSrcMask;
}

}  // namespace

void apply_address_mode(Rwc& r, const Config& config, u32 thread, u32 mode, bool with_phase) {
  const u32 ab = config.thread_word(thread, isa::thd::ADDR_MOD_AB_SEC0_SrcAIncr.word + mode);
  const u32 dst = config.thread_word(thread, isa::thd::ADDR_MOD_DST_SEC0_DestIncr.word + mode);
  if (const u32 bias = config.thread_word(thread, isa::thd::ADDR_MOD_BIAS_SEC0_BiasIncr.word + mode) & 0x1F)
    fault(FaultKind::not_modelled,
          fmt::format("address mode {}: ADDR_MOD_BIAS is {:#x}; only 0 is modelled", mode, bias));
  step_src(r.a, r.a_cr, ab & 0xFF);
  step_src(r.b, r.b_cr, ab >> 8);
  const u32 increment = isa::thd::ADDR_MOD_DST_SEC0_DestIncr.get(dst);
  if (isa::thd::ADDR_MOD_DST_SEC0_DestClear.get(dst))
    r.dst = r.dst_cr = 0;
  else if (isa::thd::ADDR_MOD_DST_SEC0_DestCToCR.get(dst))
    r.dst = r.dst_cr = (r.dst + increment) & kDstMask;
  else if (isa::thd::ADDR_MOD_DST_SEC0_DestCR.get(dst))
    r.dst = r.dst_cr = (r.dst_cr + increment) & kDstMask;
  else
    r.dst = (r.dst + increment) & kDstMask;
  if (!with_phase) return;
  if (isa::thd::ADDR_MOD_DST_SEC0_FidelityClear.get(dst))
    r.phase = 0;
  else
    r.phase = (r.phase + isa::thd::ADDR_MOD_DST_SEC0_FidelityIncr.get(dst)) & 3;
}

void execute(Rwc& r, const isa::SETRWC& i) {
  if (i.RwcCr & 8) fault(FaultKind::not_modelled, "SETRWC with DstCtoCr");
  if (i.RwcCr & ~i.BitMask)
    fault(FaultKind::not_modelled,
          fmt::format("SETRWC with CR bits {:#x} of counters it does not set ({:#x})", i.RwcCr, i.BitMask));
  if (i.BitMask & 1) r.a = r.a_cr = ((i.RwcCr & 1 ? r.a_cr : 0) + i.RwcA) & kSrcMask;
  if (i.BitMask & 2) r.b = r.b_cr = ((i.RwcCr & 2 ? r.b_cr : 0) + i.RwcB) & kSrcMask;
  if (i.BitMask & 4) r.dst = r.dst_cr = ((i.RwcCr & 4 ? r.dst_cr : 0) + i.RwcD) & kDstMask;
  if (i.BitMask & 8) r.phase = 0;
}

void execute(Rwc& r, const isa::INCRWC& i) {
  if (i.RwcCr) fault(FaultKind::not_modelled, fmt::format("INCRWC with CR bits {:#x}", i.RwcCr));
  r.a = (r.a + i.RwcA) & kSrcMask;
  r.b = (r.b + i.RwcB) & kSrcMask;
  r.dst = (r.dst + i.RwcD) & kDstMask;
}

}  // namespace baretile::sim
