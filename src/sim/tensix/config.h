// Backend configuration (two banks of Config) and ThreadConfig, with ttsim's limits on which words exist
// (BackendConfiguration.md).
#pragma once
#include <array>

#include "baretile/isa/isa.h"

namespace baretile::sim {

inline constexpr u32 kConfigWords = 224, kThreadWords = 68, kThreads = 3;

class Config {
 public:
  u32 bank_of(u32 thread) const {
    return isa::thd::CFG_STATE_ID_StateID.get(thread_[thread][isa::thd::CFG_STATE_ID_StateID.word]);
  }
  const u32* bank(u32 thread) const {
    return words_[bank_of(thread)].data();
  }  // the words the thread's instructions use
  u32 get(u32 thread, isa::Field field) const { return field.get(bank(thread)[field.word]); }
  u32 get_thread(u32 thread, isa::Field field) const { return field.get(thread_[thread][field.word]); }
  u32 thread_word(u32 thread, u32 reg) const { return thread_[thread][reg]; }

  // Grows with every write but those of MATH_Offset, which move Dst once a product.
  u64 generation() const { return generation_; }

  u32 read(u32 bank, u32 word) const;
  void write(u32 bank, u32 word, u32 value);  // words from 180 on exist once: both banks change
  void write_thread(u32 thread, u32 reg, u32 value);

 private:
  u64 generation_ = 1;
  std::array<std::array<u32, kConfigWords>, 2> words_{};
  std::array<std::array<u16, kThreadWords>, kThreads> thread_{};
};

// Fields whose other values are not modelled: a fault that names the field.
[[noreturn]] void refuse_field(isa::Field field, u32 value);
inline void require_zero(const u32* words, isa::Field field) {
  if (words[field.word] & field.mask()) [[unlikely]]
    refuse_field(field, field.get(words[field.word]));
}

}  // namespace baretile::sim
