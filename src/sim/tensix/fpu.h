// The matrix unit: one exec() an instruction, on the values of a State. Src and Dst arithmetic follows what ttsim
// computes bit for bit.
//   exec(state, operands, isa::decode<isa::MVMUL>(word));
#pragma once
#include "sim/tensix/state.h"

namespace baretile::sim {

void exec(State&, const Operands&, const isa::MVMUL&);
void exec(State&, const Operands&, const isa::GAPOOL&);
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
