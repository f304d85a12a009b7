#include "sim/tensix/adc.h"

#include <fmt/format.h>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

// One of x, y, z, w: the counter, its carriage-return value, and its width.
struct Dimension {
  u32 AdcChannel::*counter;
  u32 AdcChannel::*cr;
  u32 mask;
  void set(AdcChannel& c, u32 value) const { c.*counter = c.*cr = value & mask; }
  void add(AdcChannel& c, u32 value) const { c.*counter = (c.*counter + value) & mask; }
  void add_from_cr(AdcChannel& c, u32 value) const { c.*counter = c.*cr = (c.*cr + value) & mask; }
};
constexpr Dimension kDimensions[] = {{&AdcChannel::x, &AdcChannel::x_cr, 0x3FFFF},
                                     {&AdcChannel::y, &AdcChannel::y_cr, 0x1FFF},
                                     {&AdcChannel::z, &AdcChannel::z_cr, 0xFF},
                                     {&AdcChannel::w, &AdcChannel::w_cr, 0xFF}};

template <class Change>
void each_unit(AdcSet& adc, u32 units, Change change) {
  if (!units) fault(FaultKind::not_modelled, "an address counter instruction that selects no unit");
  for (u32 u = 0; u < 3; u++)
    if (units >> u & 1) change(adc.unit[u]);
}

// The XY and ZW forms: two dimensions of two channels, in the order of the instruction's fields and of BitMask.
template <class Insn>
void change_pair(AdcSet& adc, const Insn& i, u32 first, u32 bits, void (Dimension::*change)(AdcChannel&, u32) const) {
  if (!bits) fault(FaultKind::not_modelled, "an address counter instruction that selects no counter");
  const u32 values[4] = {i.Ch0X, i.Ch0Y, i.Ch1X, i.Ch1Y};
  each_unit(adc, i.Units, [&](Adc& unit) {
    for (u32 k = 0; k < 4; k++)
      if (bits >> k & 1) (kDimensions[first + k % 2].*change)(unit.channel[k / 2], values[k]);
  });
}

}  // namespace

void execute(AdcSet& adc, const isa::SETADC& i) {
  if (i.Value >> 16)
    fault(FaultKind::not_modelled, fmt::format("SETADC of another thread's counters (value {:#x})", i.Value));
  each_unit(adc, i.Units, [&](Adc& unit) { kDimensions[i.DimensionIndex].set(unit.channel[i.ChannelIndex], i.Value); });
}

void execute(AdcSet& adc, const isa::SETADCXX& i) {
  each_unit(adc, i.Units, [&](Adc& unit) {
    kDimensions[0].set(unit.channel[0], i.X0);
    kDimensions[0].set(unit.channel[1], i.X1);
  });
}

void execute(AdcSet& adc, const isa::SETADCXY& i) { change_pair(adc, i, 0, i.BitMask, &Dimension::set); }
void execute(AdcSet& adc, const isa::INCADCXY& i) { change_pair(adc, i, 0, 15, &Dimension::add); }
void execute(AdcSet& adc, const isa::ADDRCRXY& i) { change_pair(adc, i, 0, i.BitMask, &Dimension::add_from_cr); }
void execute(AdcSet& adc, const isa::SETADCZW& i) { change_pair(adc, i, 2, i.BitMask, &Dimension::set); }
void execute(AdcSet& adc, const isa::INCADCZW& i) { change_pair(adc, i, 2, 15, &Dimension::add); }
void execute(AdcSet& adc, const isa::ADDRCRZW& i) { change_pair(adc, i, 2, i.BitMask, &Dimension::add_from_cr); }

}  // namespace baretile::sim
