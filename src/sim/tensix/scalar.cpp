// The scalar unit's GPR instructions and the configuration unit (ScalarUnit.md, ConfigurationUnit.md).
#include <fmt/format.h>

#include <bit>

#include "sim/fault.h"
#include "sim/tensix/units.h"

namespace baretile::sim {
namespace {

// Between two GPRs; the immediate forms are refused, as ttsim does.
template <class Insn, class Operation>
bool binary(TensixUnits& u, u32 thread, const Insn& i, const char* name, Operation operation) {
  if (i.OpBIsConst) fault(FaultKind::not_modelled, fmt::format("{} with an immediate operand", name));
  u32* gpr = u.gpr[thread];
  gpr[i.ResultRegIndex] = operation(gpr[i.OpARegIndex], gpr[i.OpBRegIndex]);
  return true;
}

bool write_byte(TensixUnits& u, u32 thread, u32 word, u32 byte, u32 data, u32 mask) {
  const u32 bank = u.config.bank_of(thread), shift = 8 * byte;
  const u32 old = u.config.read(bank, word);
  u.write_config(bank, word, (old & ~(mask << shift)) | (data & mask) << shift);
  return true;
}

}  // namespace

void TensixUnits::write_config(u32 bank, u32 word, u32 value) {
  config.write(bank, word, value);
  if (word == isa::cfg::PRNG_SEED_Seed_Val.word) state.sfpu.seed(value);
}

bool execute(TensixUnits& u, u32 thread, const isa::SETDMAREG& i) {
  if (i.SetSignalsMode) fault(FaultKind::not_modelled, "SETDMAREG of packer state");
  const u32 value = i.PayloadSigSel | i.PayloadSigSelSize << 14, shift = 16 * (i.RegIndex16b & 1);
  u32& gpr = u.gpr[thread][i.RegIndex16b / 2];
  gpr = (gpr & ~(0xFFFFu << shift)) | value << shift;
  return true;
}

bool execute(TensixUnits& u, u32 thread, const isa::ADDDMAREG& i) {
  return binary(u, thread, i, "ADDDMAREG", [](u32 a, u32 b) { return a + b; });
}
bool execute(TensixUnits& u, u32 thread, const isa::MULDMAREG& i) {
  return binary(u, thread, i, "MULDMAREG", [](u32 a, u32 b) { return (a & 0xFFFF) * (b & 0xFFFF); });
}

// Only the overlay's registers, which are the tile's (STOREREG.md; ttsim refuses the rest of the window).
bool execute(TensixUnits& u, u32 thread, const isa::STOREREG& i) {
  const u32 addr = 0xFFB00000 + (i.RegAddr << 2);
  if (addr < 0xFFB40000 || addr >= 0xFFB80000 || !u.register_store)
    fault(FaultKind::not_modelled,
          fmt::format("STOREREG to {:#x}; only overlay registers at 0xFFB40000 are modelled", addr));
  u.register_store(u.register_store_context, addr, u.gpr[thread][i.TdmaDataRegIndex]);
  return true;
}

bool execute(TensixUnits&, u32, const isa::REG2FLOP&) {
  fault(FaultKind::not_modelled, "REG2FLOP; use WRCFG or SETADC");
}
bool execute(TensixUnits&, u32, const isa::DMANOP&) { return true; }

bool execute(TensixUnits& u, u32 thread, const isa::WRCFG& i) {
  if (i.CfgReg >= kConfigWords)
    fault(FaultKind::bad_address, fmt::format("WRCFG of configuration word {}; there are {}", i.CfgReg, kConfigWords));
  const u32 bank = u.config.bank_of(thread);
  if (!i.Wr128b) {
    u.write_config(bank, i.CfgReg, u.gpr[thread][i.Gpr]);
    return true;
  }
  if (i.CfgReg & 3 || i.Gpr & 3)
    fault(FaultKind::undefined_behaviour,
          fmt::format("128-bit WRCFG of word {} from GPR {}; both must be multiples of 4", i.CfgReg, i.Gpr));
  for (u32 k = 0; k < 4; k++) u.write_config(bank, i.CfgReg + k, u.gpr[thread][i.Gpr + k]);
  return true;
}

bool execute(TensixUnits& u, u32 thread, const isa::RDCFG& i) {
  u.gpr[thread][i.Gpr] = u.config.read(u.config.bank_of(thread), i.CfgReg);
  return true;
}

bool execute(TensixUnits& u, u32 thread, const isa::SETC16& i) {
  u.config.write_thread(thread, i.Reg, i.Value);
  return true;
}

bool execute(TensixUnits& u, u32 thread, const isa::RMWCIB0& i) {
  return write_byte(u, thread, i.CfgReg, 0, i.Data, i.Mask);
}
bool execute(TensixUnits& u, u32 thread, const isa::RMWCIB1& i) {
  return write_byte(u, thread, i.CfgReg, 1, i.Data, i.Mask);
}
bool execute(TensixUnits& u, u32 thread, const isa::RMWCIB2& i) {
  return write_byte(u, thread, i.CfgReg, 2, i.Data, i.Mask);
}
bool execute(TensixUnits& u, u32 thread, const isa::RMWCIB3& i) {
  return write_byte(u, thread, i.CfgReg, 3, i.Data, i.Mask);
}

bool execute(TensixUnits& u, u32 thread, const isa::CFGSHIFTMASK& i) {
  if (i.MaskWidth != 31 || i.RightCshiftAmt || i.Operation != 3 || !i.DisableMaskOnOldVal)
    fault(FaultKind::not_modelled, fmt::format("CFGSHIFTMASK with mask width {}, rotation {}, operation {}, mask mode "
                                               "{}; only 31, 0, 3 (add), 1 is modelled",
                                               i.MaskWidth, i.RightCshiftAmt, i.Operation, i.DisableMaskOnOldVal));
  const u32 bank = u.config.bank_of(thread), scratch = i.ScratchSel < 3 ? i.ScratchSel : thread;
  u.write_config(bank, i.CfgReg,
                 u.config.read(bank, i.CfgReg) + u.config.bank(thread)[isa::cfg::SCRATCH_SEC0_val.word + scratch]);
  return true;
}

}  // namespace baretile::sim
