// Row counters of the matrix and vector units, and the address modes that move them (RWCs.md); one set a thread.
#pragma once
#include "baretile/isa/isa.h"
#include "sim/tensix/config.h"

namespace baretile::sim {

struct Rwc {
  u32 dst = 0, dst_cr = 0;  // 10 bits
  u32 a = 0, a_cr = 0;      // 6 bits
  u32 b = 0, b_cr = 0;      // 6 bits
  u32 phase = 0;            // fidelity, 2 bits
};

void apply_address_mode(Rwc&, const Config&, u32 thread, u32 mode, bool with_phase = true);
void execute(Rwc&, const isa::SETRWC&);
void execute(Rwc&, const isa::INCRWC&);

}  // namespace baretile::sim
