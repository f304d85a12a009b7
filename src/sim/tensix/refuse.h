// Errors for what the math units do not model: ttsim refuses the same.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "baretile/bits.h"
#include "sim/fault.h"

namespace baretile::sim {

[[noreturn]] inline void refuse(std::string_view insn, std::string_view what, u32 value) {
  fault(FaultKind::not_modelled, fmt::format("{} {} {}", insn, what, value));
}

inline void check_mode(std::string_view insn, u32 mode, std::initializer_list<u32> accepted) {
  if (std::find(accepted.begin(), accepted.end(), mode) == accepted.end()) refuse(insn, "mode", mode);
}

}  // namespace baretile::sim
