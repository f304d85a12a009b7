// The matrix unit: one exec() an instruction, on the values of a State. Src and Dst arithmetic follows what ttsim
// computes bit for bit.
//   exec(state, operands, isa::decode<isa::MVMUL>(word));
#pragma once
#include "sim/fault.h"
#include "sim/tensix/state.h"

namespace baretile::sim {

// Dst rows += SrcB rows times 16 SrcA rows: MVMUL and GAPOOL, in line because kernels run little else.
void multiply(State&, const Operands&, const char* insn, u32 dst_row, u32 rows);
inline void exec(State& s, const Operands& o, const isa::MVMUL& i) {
  if (i.Mod19) fault(FaultKind::not_modelled, "MVMUL that broadcasts a SrcB row (bit 19)");
  multiply(s, o, "MVMUL", (i.DstRow + o.row_dst) & 0x3FF, 8);
}
inline void exec(State& s, const Operands& o, const isa::GAPOOL& i) {
  if (!i.Mod19 || i.MaxPoolIndexEn) fault(FaultKind::not_modelled, "GAPOOL with bit 19 clear or bit 14 set");
  multiply(s, o, "GAPOOL", (i.DstRow + o.row_dst) & 0x3FF, 4);
}
void exec(State&, const Operands&, const isa::GMPOOL&);
void exec(State&, const Operands&, const isa::ELWADD&);
void exec(State&, const Operands&, const isa::ELWSUB&);
void exec(State&, const Operands&, const isa::ELWMUL&);
void exec(State&, const Operands&, const isa::MOVA2D&);
void exec(State&, const Operands&, const isa::MOVB2D&);
void exec(State&, const Operands&, const isa::MOVD2A&);
void exec(State&, const Operands&, const isa::MOVD2B&);
void exec(State&, const Operands&, const isa::MOVB2A&);
void exec(State&, const Operands&, const isa::TRNSPSRCB&);
void exec(State&, const Operands&, const isa::ZEROACC&);
void exec(State&, const Operands&, const isa::ZEROSRC&);

}  // namespace baretile::sim
