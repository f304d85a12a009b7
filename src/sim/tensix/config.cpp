#include "sim/tensix/config.h"

#include <fmt/format.h>

#include "baretile/isa/table.h"
#include "sim/fault.h"

namespace baretile::sim {
namespace {

constexpr u32 kFirstGlobalWord = 180;

// src: words that ttsim v1.10 takes, with its reasons for the others in tests/diff.
constexpr u8 kWritable[] = {0,   1,   2,   3,   12,  13,  14,  15,  17,  18,  20,  21,  24,  25,  28,  29,  30, 31,
                            50,  56,  57,  59,  64,  65,  68,  69,  70,  71,  72,  73,  76,  77,  84,  86,  92, 93,
                            112, 113, 119, 120, 121, 124, 125, 180, 181, 182, 183, 185, 186, 209, 210, 211, 220};
constexpr u8 kReadable[] = {0,  1,   2,   3,   12,  13,  14,  15,  17,  18,  24,  28,  56, 57, 59,
                            64, 65,  66,  67,  68,  69,  70,  71,  72,  73,  74,  75,  76, 77, 84,
                            86, 112, 113, 114, 115, 119, 120, 121, 122, 123, 124, 125, 220};
constexpr u8 kThreadWritable[] = {0,  1,  2,  3,  5,  7,  12, 13, 14, 15, 16, 17, 18, 19, 28, 29, 30, 31,
                                  32, 33, 34, 35, 37, 38, 39, 40, 41, 47, 48, 49, 50, 51, 52, 53, 54};

// Bits a word keeps: its named fields, or all of an unnamed word of a descriptor.
struct StoredBits {
  std::array<u32, kConfigWords> mask{};
  consteval StoredBits() {
    for (const isa::RegisterField& f : isa::kRegisterFields)
      if (!f.thread) mask[f.word] |= mask_bits(f.width) << f.lo;
    for (u32 word : {65, 66, 67, 113, 114, 115}) mask[word] = ~0u;
  }
};
constexpr StoredBits kStored;

// Fields that may not become nonzero at all; others are refused where they would be used.
namespace c = isa::cfg;
constexpr isa::Field kRefused[] = {
    c::ALU_FORMAT_SPEC_REG_SrcB_override, c::ALU_FORMAT_SPEC_REG_Dstacc_override, c::ALU_ROUNDING_MODE_Fpu_srnd_en,
    c::ALU_ROUNDING_MODE_Gasket_srnd_en,  c::ALU_ROUNDING_MODE_Packer_srnd_en,    c::ALU_ROUNDING_MODE_Padding,
    c::ALU_ROUNDING_MODE_GS_LF,           c::ALU_ROUNDING_MODE_Bfp8_HF,           c::THCON_SEC1_REG1_Downsample_mask,
    c::THCON_SEC1_REG1_Downsample_rate,   c::THCON_SEC1_REG1_Pack_L1_Acc,         c::THCON_SEC1_REG1_Exp_threshold_en,
    c::THCON_SEC1_REG1_Pac_LF8_4b_exp,    c::THCON_SEC1_REG1_Exp_threshold,
};

template <size_t N>
constexpr std::array<bool, 256> flags_of(const u8 (&list)[N]) {
  std::array<bool, 256> flags{};
  for (u8 word : list) flags[word] = true;
  return flags;
}
constexpr auto kIsWritable = flags_of(kWritable), kIsReadable = flags_of(kReadable),
               kIsThreadWritable = flags_of(kThreadWritable);

constexpr auto kHasRefusedField = [] {
  std::array<bool, 256> flags{};
  for (isa::Field f : kRefused) flags[f.word] = true;
  return flags;
}();

}  // namespace

void refuse_field(isa::Field field, u32 value) {
  std::string_view name = "?";
  for (const isa::RegisterField& f : isa::kRegisterFields)
    if (!f.thread && f.word == field.word && f.lo == field.lo) name = f.name;
  fault(FaultKind::not_modelled,
        fmt::format("configuration field {} (word {}) is {:#x}; only 0 is modelled", name, field.word, value));
}

u32 Config::read(u32 bank, u32 word) const {
  if (word >= kConfigWords || !kIsReadable[word])
    fault(FaultKind::not_modelled, fmt::format("configuration word {} cannot be read", word));
  return words_[bank][word];
}

void Config::write(u32 bank, u32 word, u32 value) {
  if (word >= kConfigWords || !kIsWritable[word])
    fault(FaultKind::not_modelled,
          fmt::format("configuration word {} is not modelled; writing {:#x} has no effect here", word, value));
  if (word == isa::cfg::RISCV_IC_INVALIDATE_InvalidateAll.word &&
      value > isa::cfg::RISCV_IC_INVALIDATE_InvalidateAll.mask())
    fault(FaultKind::reserved_bits,
          fmt::format("RISCV_IC_INVALIDATE (word 185) takes one bit a core, not {:#x}", value));
  value &= kStored.mask[word];
  generation_++;
  words_[bank][word] = value;
  if (word >= kFirstGlobalWord) words_[bank ^ 1][word] = value;
  if (!kHasRefusedField[word]) return;
  for (isa::Field f : kRefused)
    if (f.word == word) require_zero(words_[bank].data(), f);
}

void Config::write_thread(u32 thread, u32 reg, u32 value) {
  if (reg >= kThreadWords || !kIsThreadWritable[reg])
    fault(FaultKind::not_modelled, fmt::format("SETC16 register {} is not modelled (value {:#x})", reg, value));
  generation_ += reg != isa::thd::DEST_TARGET_REG_CFG_MATH_Offset.word;
  thread_[thread][reg] = u16(value);
}

}  // namespace baretile::sim
