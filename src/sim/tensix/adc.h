// Address counters of the unpackers and the packer (ADCs.md); one set a thread.
#pragma once
#include "baretile/isa/isa.h"

namespace baretile::sim {

struct AdcChannel {
  u32 x = 0, x_cr = 0;  // 18 bits
  u32 y = 0, y_cr = 0;  // 13 bits
  u32 z = 0, z_cr = 0;  // 8 bits
  u32 w = 0, w_cr = 0;  // 8 bits
  void set_x(u32 v) { x = v & 0x3FFFF; }
  void set_y(u32 v) { y = v & 0x1FFF; }
  void set_z(u32 v) { z = v & 0xFF; }
  void set_w(u32 v) { w = v & 0xFF; }
};

struct Adc {
  AdcChannel channel[2];
};

struct AdcSet {
  Adc unit[3];  // unpacker 0, unpacker 1, packer: bit i of an instruction's Units
};

void execute(AdcSet&, const isa::SETADC&);
void execute(AdcSet&, const isa::SETADCXX&);
void execute(AdcSet&, const isa::SETADCXY&);
void execute(AdcSet&, const isa::INCADCXY&);
void execute(AdcSet&, const isa::ADDRCRXY&);
void execute(AdcSet&, const isa::SETADCZW&);
void execute(AdcSet&, const isa::INCADCZW&);
void execute(AdcSet&, const isa::ADDRCRZW&);

}  // namespace baretile::sim
