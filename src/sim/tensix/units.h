// Everything behind the Coprocessor interface: the state of one tile's Tensix units, and the instructions outside the
// two math units.
#pragma once
#include "sim/tensix/adc.h"
#include "sim/tensix/config.h"
#include "sim/tensix/coprocessor.h"
#include "sim/tensix/frontend.h"
#include "sim/tensix/packer.h"
#include "sim/tensix/rwc.h"
#include "sim/tensix/state.h"
#include "sim/tensix/sync.h"

namespace baretile::sim {

inline constexpr u32 kL1Bytes = 1536 * 1024, kGprs = 64;

// A thread's operands; what follows from the configuration stays until that changes.
struct ThreadOperands : Operands {
  u64 generation = 0;
  bool implied_a = false, implied_b = false;  // the banks' formats count
};

struct TensixUnits {
  explicit TensixUnits(u8* l1) : l1(l1) {}
  u8* l1;
  State state;
  Config config;
  Sync sync;
  AdcSet adc[kThreads];
  Rwc rwc[kThreads];
  ThreadOperands operands[kThreads];
  u32 gpr[kThreads][kGprs] = {};
  PackOutput pack_output;
  Frontend frontend[kThreads];
  RegisterStore register_store = nullptr;
  void* register_store_context = nullptr;

  void write_config(u32 bank, u32 word, u32 value);
};

// Each returns false to leave the instruction at its thread's wait gate.
bool execute(TensixUnits&, u32 thread, const isa::UNPACR&);
bool execute(TensixUnits&, u32 thread, const isa::UNPACR_NOP&);
bool execute(TensixUnits&, u32 thread, const isa::PACR&);
bool execute(TensixUnits&, u32 thread, const isa::SETDMAREG&);
bool execute(TensixUnits&, u32 thread, const isa::ADDDMAREG&);
bool execute(TensixUnits&, u32 thread, const isa::MULDMAREG&);
bool execute(TensixUnits&, u32 thread, const isa::STOREREG&);
bool execute(TensixUnits&, u32 thread, const isa::REG2FLOP&);
bool execute(TensixUnits&, u32 thread, const isa::DMANOP&);
bool execute(TensixUnits&, u32 thread, const isa::WRCFG&);
bool execute(TensixUnits&, u32 thread, const isa::RDCFG&);
bool execute(TensixUnits&, u32 thread, const isa::SETC16&);
bool execute(TensixUnits&, u32 thread, const isa::RMWCIB0&);
bool execute(TensixUnits&, u32 thread, const isa::RMWCIB1&);
bool execute(TensixUnits&, u32 thread, const isa::RMWCIB2&);
bool execute(TensixUnits&, u32 thread, const isa::RMWCIB3&);
bool execute(TensixUnits&, u32 thread, const isa::CFGSHIFTMASK&);

}  // namespace baretile::sim
