// Helpers of the vector unit: functions of single lanes run over all 32, in AVX2 where the host has it (the compiler
// vectorises the loops).
#pragma once
#include "sim/tensix/fpu_simd.h"
#include "sim/tensix/refuse.h"
#include "sim/tensix/sfpu_fma.h"
#include "sim/tensix/state.h"

namespace baretile::sim {

#if defined(__x86_64__)
template <class F, class... In>
__attribute__((target("avx2"), flatten)) void map_avx2(Lanes& out, const F& f, const In&... in) {
  for (u32 i = 0; i < kLanes; i++) out.lane[i] = f(in.lane[i]...);
}
#endif

// A register of f(in[lane] …).
template <class F, class... In>
Lanes map(const F& f, const In&... in) {
  Lanes out;
#if defined(__x86_64__)
  if (avx2_available()) {
    map_avx2(out, f, in...);
    return out;
  }
#endif
  for (u32 i = 0; i < kLanes; i++) out.lane[i] = f(in.lane[i]...);
  return out;
}

// Registers 8 … 11 take no results, and 12 and up would store the instruction as a macro template.
inline void check_destination(u32 vd) {
  if (vd >= 8) refuse("a vector instruction", "with destination LReg", vd);
}

// LReg[vd] = f(in …) in the enabled lanes.
template <class F, class... In>
void assign(Sfpu& s, u32 vd, const F& f, const In&... in) {
  check_destination(vd);
  s.lreg[vd] = map([&f](u32 enabled, u32 old, auto... x) { return select(enabled, f(x...), old); }, s.enabled,
                   s.lreg[vd], in...);
}

// LaneFlags = f(in …) in the enabled lanes; f gives 0 or ~0.
template <class F, class... In>
void assign_flags(Sfpu& s, const F& f, const In&... in) {
  s.flags =
      map([&f](u32 enabled, u32 old, auto... x) { return select(enabled, f(x...), old); }, s.enabled, s.flags, in...);
  s.update_enabled();
}

}  // namespace baretile::sim
