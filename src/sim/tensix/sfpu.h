// The vector unit: one exec() an instruction, over 32 lanes (VectorUnit.md). Only SFPLOAD and SFPSTORE look at the
// operands.
#pragma once
#include "sim/tensix/state.h"

namespace baretile::sim {

void exec(State&, const Operands&, const isa::SFPLOAD&);
void exec(State&, const Operands&, const isa::SFPLOADI&);
void exec(State&, const Operands&, const isa::SFPSTORE&);
void exec(State&, const Operands&, const isa::SFPLOADMACRO&);
void exec(State&, const Operands&, const isa::SFPMAD&);
void exec(State&, const Operands&, const isa::SFPADD&);
void exec(State&, const Operands&, const isa::SFPMUL&);
void exec(State&, const Operands&, const isa::SFPADDI&);
void exec(State&, const Operands&, const isa::SFPMULI&);
void exec(State&, const Operands&, const isa::SFPMUL24&);
void exec(State&, const Operands&, const isa::SFPIADD&);
void exec(State&, const Operands&, const isa::SFPARECIP&);
void exec(State&, const Operands&, const isa::SFPLUT&);
void exec(State&, const Operands&, const isa::SFPLUTFP32&);
void exec(State&, const Operands&, const isa::SFPMOV&);
void exec(State&, const Operands&, const isa::SFPABS&);
void exec(State&, const Operands&, const isa::SFPAND&);
void exec(State&, const Operands&, const isa::SFPOR&);
void exec(State&, const Operands&, const isa::SFPNOT&);
void exec(State&, const Operands&, const isa::SFPXOR&);
void exec(State&, const Operands&, const isa::SFPLZ&);
void exec(State&, const Operands&, const isa::SFPSHFT&);
void exec(State&, const Operands&, const isa::SFPSHFT2&);
void exec(State&, const Operands&, const isa::SFPSWAP&);
void exec(State&, const Operands&, const isa::SFPTRANSP&);
void exec(State&, const Operands&, const isa::SFPSETEXP&);
void exec(State&, const Operands&, const isa::SFPSETMAN&);
void exec(State&, const Operands&, const isa::SFPSETSGN&);
void exec(State&, const Operands&, const isa::SFPEXEXP&);
void exec(State&, const Operands&, const isa::SFPEXMAN&);
void exec(State&, const Operands&, const isa::SFPDIVP2&);
void exec(State&, const Operands&, const isa::SFPGT&);
void exec(State&, const Operands&, const isa::SFPLE&);
void exec(State&, const Operands&, const isa::SFPSETCC&);
void exec(State&, const Operands&, const isa::SFPENCC&);
void exec(State&, const Operands&, const isa::SFPCOMPC&);
void exec(State&, const Operands&, const isa::SFPPUSHC&);
void exec(State&, const Operands&, const isa::SFPPOPC&);
void exec(State&, const Operands&, const isa::SFPCAST&);
void exec(State&, const Operands&, const isa::SFP_STOCH_RND&);
void exec(State&, const Operands&, const isa::SFPCONFIG&);
void exec(State&, const Operands&, const isa::SFPNOP&);

}  // namespace baretile::sim
