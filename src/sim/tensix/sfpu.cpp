// State, conditional execution, moves and configuration of the vector unit.
#include "sim/tensix/sfpu.h"

#include <bit>

#include "sim/tensix/sfpu_lanes.h"

namespace baretile::sim {
namespace {

enum LaneConfig : u32 { kEnableDestIndex = 1 << 2, kExchangeSrcbSrcc = 1 << 8 };

u32 next_random(u32 x) { return (~u32(std::popcount(x & 0x80200003)) << 31) | x >> 1; }

// -NaN < -infinity < … < -0 < +0 < … < +NaN, or sign-magnitude integers (SFPGT.md).
u32 is_smaller(u32 c, u32 d) {
  const i32 x = i32(c ^ u32(i32(c) >> 30) >> 1), y = i32(d ^ u32(i32(d) >> 30) >> 1);
  return mask_if(x < y);
}

// What SFPGT and SFPLE do with their result.
void compare(Sfpu& s, std::string_view insn, u32 mode, u32 vc, u32 vd, u32 invert) {
  check_mode(insn, mode, {1, 8});
  check_destination(vd);
  const auto f = [invert](u32 c, u32 d) { return is_smaller(c, d) ^ invert; };
  if (mode == 1)
    assign_flags(s, f, s.lreg[vc], s.lreg[vd]);
  else
    assign(s, vd, f, s.lreg[vc], s.lreg[vd]);
}

}  // namespace

// Values ttsim powers up with; LReg.md leaves 11 … 14 open until SFPCONFIG has set them.
Sfpu::Sfpu() : lreg{}, flags(splat(~0u)), use_flags(splat(~0u)), enabled(splat(~0u)), stack{}, prng{} {
  lreg[8] = splat(0x3F56594B);
  lreg[10] = splat(0x3F800000);
  lreg[11] = splat(0xBF800000);
  lreg[12] = splat(0x3B000000);
  lreg[13] = splat(0xBF2CC4C7);
  lreg[14] = splat(0xBEB08FF9);
  for (u32 i = 0; i < kLanes; i++) lreg[15].lane[i] = 2 * i;
}

void Sfpu::update_enabled() {
  for (u32 i = 0; i < kLanes; i++) enabled.lane[i] = flags.lane[i] | ~use_flags.lane[i];
}

// The generators are one chain: each lane stands two steps before its predecessor.
void Sfpu::seed(u32 value) {
  for (u32 lane = 0; lane < kLanes; lane++) {
    prng.lane[lane] = value;
    for (u32 step = 2 * lane; step < 96; step++) prng.lane[lane] = next_random(prng.lane[lane]);
  }
}

void Sfpu::advance_prng() {
  prng = map([](u32 on, u32 x) { return select(on, next_random(x), x); }, enabled, prng);
}

void exec(State&, const Operands&, const isa::SFPNOP&) {}

void exec(State& state, const Operands&, const isa::SFPMOV& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPMOV", i.Mod1, {0, 1, 2, 8});
  check_destination(i.VD);
  if (i.Mod1 == 8) {
    if (i.VC != 9) refuse("SFPMOV", "from configuration register", i.VC);
    assign(
        s, i.VD, [](u32 random) { return random; }, s.prng);
    s.advance_prng();
  } else if (i.Mod1 == 2) {  // all lanes, enabled or not
    s.lreg[i.VD] = Lanes(s.lreg[i.VC]);
  } else {
    assign(
        s, i.VD, [flip = i.Mod1 << 31](u32 c) { return c ^ flip; }, s.lreg[i.VC]);
  }
}

void exec(State& state, const Operands&, const isa::SFPGT& i) { compare(state.sfpu, "SFPGT", i.Mod1, i.VC, i.VD, 0); }
void exec(State& state, const Operands&, const isa::SFPLE& i) { compare(state.sfpu, "SFPLE", i.Mod1, i.VC, i.VD, ~0u); }

void exec(State& state, const Operands&, const isa::SFPSWAP& i) {
  Sfpu& s = state.sfpu;
  constexpr u32 kAscending[] = {0, 0xFFFFFFFF, 0x0000FFFF,
                                0x00FF00FF};  // lanes where VD gets the minimum, for modes 1 … 3; none for 9
  check_mode("SFPSWAP", i.Mod1, {0, 1, 2, 3, 9});
  if (i.VD >= 12) refuse("SFPSWAP", "with destination LReg", i.VD);
  Lanes swap = s.enabled;
  if (i.Mod1 != 0) {
    const u32 ascending = (i.Mod1 == 9 ? 0 : kAscending[i.Mod1]) ^ mask_if(s.lane_config & kExchangeSrcbSrcc);
    Lanes up;
    for (u32 lane = 0; lane < kLanes; lane++) up.lane[lane] = mask_if(ascending >> lane & 1);
    swap = map([](u32 minimum, u32 on, u32 c, u32 d) { return (is_smaller(c, d) ^ ~minimum) & on; }, up, s.enabled,
               s.lreg[i.VC], s.lreg[i.VD]);
  }
  const auto take = [](u32 mask, u32 yes, u32 no) { return select(mask, yes, no); };
  const auto exchange = [&](u32 a, u32 b) {
    const Lanes old_a = s.lreg[a], old_b = s.lreg[b];
    if (a < 8) s.lreg[a] = map(take, swap, old_b, old_a);
    if (b < 8) s.lreg[b] = map(take, swap, old_a, old_b);
  };
  exchange(i.VC, i.VD);
  if (!(s.lane_config & kEnableDestIndex)) return;
  // The comparison of LReg 0 … 3 also moves the indices that LReg 4 … 7 hold for them.
  if (i.VC >= 4 || i.VD >= 4) refuse("SFPSWAP", "with ENABLE_DEST_INDEX, of LReg", std::max(i.VC, i.VD));
  exchange(4 + i.VC, 4 + i.VD);
}

void exec(State& state, const Operands&, const isa::SFPTRANSP& i) {
  Sfpu& s = state.sfpu;
  check_destination(i.VD);
  for (u32 base : {0u, 4u})
    for (u32 a = 0; a < 4; a++)
      for (u32 b = 0; b < a; b++) {
        u32 *low = s.lreg[base + a].lane + 8 * b, *high = s.lreg[base + b].lane + 8 * a;
        for (u32 col = 0; col < 8; col++) {
          const u32 old_low = low[col], old_high = high[col];
          low[col] = select(s.enabled.lane[8 * b + col], old_high, old_low);
          high[col] = select(s.enabled.lane[8 * a + col], old_low, old_high);
        }
      }
}

void exec(State& state, const Operands&, const isa::SFPSETCC& i) {
  Sfpu& s = state.sfpu;
  check_destination(i.VD);
  if (i.Imm12 != 0) refuse("SFPSETCC", "with immediate", i.Imm12);
  const auto test = [&s, &i](auto f) {
    assign_flags(
        s, [f](u32 use, u32 c) { return use & f(c); }, s.use_flags, s.lreg[i.VC]);
  };
  switch (i.Mod1) {
    case 0:
      return test([](u32 c) { return mask_if(i32(c) < 0); });
    case 2:
      return test([](u32 c) { return mask_if(c != 0); });
    case 4:
      return test([](u32 c) { return mask_if(i32(c) >= 0); });
    case 6:
      return test([](u32 c) { return mask_if(c == 0); });
    default:
      refuse("SFPSETCC", "mode", i.Mod1);
  }
}

void exec(State& state, const Operands&, const isa::SFPENCC& i) {
  Sfpu& s = state.sfpu;
  check_destination(i.VD);
  check_mode("SFPENCC", i.Mod1, {0, 10});
  if (i.Mod1 == 0 && i.Imm12 != 0) refuse("SFPENCC", "mode 0 with immediate", i.Imm12);
  if (i.Mod1 == 10) s.use_flags = splat(mask_if(i.Imm12 & 1));
  s.flags = splat(i.Mod1 == 10 ? mask_if(i.Imm12 & 2) : ~0u);
  s.update_enabled();
}

void exec(State& state, const Operands&, const isa::SFPPUSHC& i) {
  Sfpu& s = state.sfpu;
  check_destination(i.VD);
  check_mode("SFPPUSHC", i.Mod1, {0});
  if (s.stack_depth == s.stack.size()) fault(FaultKind::undefined_behaviour, "SFPPUSHC on a full stack of eight");
  s.stack[s.stack_depth++] = {s.flags, s.use_flags};
}

void exec(State& state, const Operands&, const isa::SFPPOPC& i) {
  Sfpu& s = state.sfpu;
  check_destination(i.VD);
  check_mode("SFPPOPC", i.Mod1, {0});
  if (s.stack_depth == 0) fault(FaultKind::undefined_behaviour, "SFPPOPC on an empty stack");
  const Sfpu::FlagStackEntry& top = s.stack[--s.stack_depth];
  s.flags = top.flags;
  s.use_flags = top.use_flags;
  s.update_enabled();
}

void exec(State& state, const Operands&, const isa::SFPCOMPC& i) {
  Sfpu& s = state.sfpu;
  check_destination(i.VD);
  Sfpu::FlagStackEntry top{splat(~0u), splat(~0u)};
  if (s.stack_depth != 0) top = s.stack[s.stack_depth - 1];
  s.flags = map([](u32 flags, u32 use, u32 saved, u32 saved_use) { return saved_use & use & saved & ~flags; }, s.flags,
                s.use_flags, top.flags, top.use_flags);
  s.update_enabled();
}

// Values come from the first eight lanes of LReg 0, which must agree, or (mode 1) from the immediate.
void exec(State& state, const Operands&, const isa::SFPCONFIG& i) {
  Sfpu& s = state.sfpu;
  check_mode("SFPCONFIG", i.Mod1, {0, 1});
  for (u32 lane = 0; lane < kLanes; lane++) {
    if (!s.enabled.lane[lane]) refuse("SFPCONFIG", "with a disabled lane", lane);
    if (i.Mod1 == 0 && s.lreg[0].lane[lane & 7] != s.lreg[0].lane[0])
      refuse("SFPCONFIG", "from a LReg 0 that differs in lane", lane & 7);
  }
  const u32 value = i.Mod1 == 1 ? i.Imm16 : s.lreg[0].lane[0];
  if (i.ConfigDest == 15) {
    if (value & ~(kEnableDestIndex | kExchangeSrcbSrcc)) refuse("SFPCONFIG", "of LaneConfig to", value);
    s.lane_config = value;
  } else if (i.ConfigDest == 11 && i.Mod1 == 1) {
    s.lreg[11] = splat(0xBF800000);
  } else if (i.ConfigDest >= 11 && i.Mod1 == 0) {
    s.lreg[i.ConfigDest] = splat(value);
  } else {
    refuse("SFPCONFIG", "destination", i.ConfigDest);
  }
}

void exec(State&, const Operands&, const isa::SFPLOADMACRO&) {
  fault(FaultKind::not_modelled, "SFPLOADMACRO: macro sequences are out of scope");
}

}  // namespace baretile::sim
