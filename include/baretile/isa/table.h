// The instruction and register tables as data, for the disassembler, the simulator's decoder checks and the docs. Host only.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "baretile/isa/isa.h"

namespace baretile::isa {

enum class Unit : u8 { None, Frontend, Fpu, Sfpu, Unpacker, Packer, Sync, Config, Misc, Scalar };

struct FieldInfo {
  std::string_view name;
  u8 lo, width;
};

struct InsnInfo {
  std::string_view name;
  u8 opcode = 0;
  Unit unit = Unit::None;      // None: in the opcode map, but not supported here
  std::array<FieldInfo, 14> field_storage{};
  constexpr std::span<const FieldInfo> fields() const {
    size_t n = 0;
    while (n < field_storage.size() && field_storage[n].width) n++;
    return {field_storage.data(), n};
  }
  // Bits an instruction word of this kind may have set, opcode included.
  constexpr u32 known_bits() const {
    u32 bits = 0xFF000000;
    for (const FieldInfo& f : fields()) bits |= mask_bits(f.width) << f.lo;
    return bits;
  }
};

inline constexpr InsnInfo kInsns[] = {
#define INSN(name, op, unit) {#name, op, Unit::unit, {{
#define FIELD(name, lo, width) {#name, lo, width},
#define END }}},
#define INSN_UNSUPPORTED(name, op) {#name, op, Unit::None, {}},
#include "baretile/isa/tensix.def"
#undef INSN
#undef FIELD
#undef END
#undef INSN_UNSUPPORTED
};

struct RegisterField {
  std::string_view name;
  u16 word;
  u8 lo, width;
  bool thread;  // ThreadConfig (SETC16) instead of the backend configuration
};

inline constexpr RegisterField kRegisterFields[] = {
#define CFG(name, word, lo, width) {#name, word, lo, width, false},
#define THD(name, word, lo, width) {#name, word, lo, width, true},
#include "baretile/isa/config.def"
#undef CFG
#undef THD
};

// The row of an opcode, or nullptr.
constexpr const InsnInfo* find_insn(u32 opcode) {
  for (const InsnInfo& info : kInsns)
    if (info.opcode == opcode) return &info;
  return nullptr;
}

consteval bool fields_ascend_without_overlap() {
  for (const InsnInfo& info : kInsns) {
    u32 next = 0;
    for (const FieldInfo& f : info.fields()) {
      if (f.lo < next || f.lo + f.width > 24) return false;
      next = f.lo + f.width;
    }
  }
  return true;
}
static_assert(fields_ascend_without_overlap(), "tensix.def: fields of an instruction overlap, descend, or reach into the opcode");

}  // namespace baretile::isa
