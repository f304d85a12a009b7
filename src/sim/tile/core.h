// One "baby" RISC-V core: registers, where it stands, and what it waits for (BabyRISCV/README.md).
#pragma once
#include <array>
#include <string>

#include "baretile/isa/mmio.h"
#include "sim/rv32/decode.h"

namespace baretile::sim {

class Tile;

enum class CoreState : u8 {
  held,  // in soft reset
  running,
  polling,  // its loop repeats until one of the words it reads changes
  waiting,  // its next instruction cannot complete yet
};

enum class Wait : u8 { fifo_room, tensix_drain, mop_drain, mailbox_value, mailbox_room, turn };

struct Watch {
  u32 address, value;
};

// What a polling loop reads, gathered while one turn of it runs.
struct Recorder {
  static constexpr u32 kWatches = 8;
  std::array<Watch, kWatches> watches;
  u32 count = 0;
  bool failed = false;  // the loop has effects, reads too many words, or words that change by themselves
  void read(u32 address, u32 value);
};

struct Core {
  u32 x[33] = {};  // x[kDiscard] swallows writes to x0
  u32 pc = 0;
  u32 left = 0;  // clocks left of the slice it runs
  u64 time = 0;  // clock up to which it has run
  u64 slice_end = 0;
  Tile* tile = nullptr;
  u8* local_ram = nullptr;
  u32 local_bytes = 0;
  u32 cfg0 = 0;      // CSR 0x7C0
  u32 restarts = 0;  // releases from soft reset, for a core that causes one while it runs
  isa::Core id{};
  CoreState state = CoreState::held;
  Wait wait{};
  u8 wait_index = 0;  // the thread or mailbox waited for
  bool spun = false;  // stopped at a marked jump: see decode.h
  u32 spin_pc = 0, spin_skip = 0, spin_backoff = 0;
  Recorder polled;  // while polling

  u64 clock() const { return slice_end - left; }                                             // while it runs
  bool waits_for_turn() const { return state == CoreState::waiting && wait == Wait::turn; }  // see sched.h
  bool is_trisc() const { return id >= isa::Core::trisc0; }
  u32 thread() const { return u32(id) - u32(isa::Core::trisc0); }
};

constexpr const char* name_of(isa::Core core) {
  constexpr const char* kNames[] = {"brisc", "ncrisc", "trisc0", "trisc1", "trisc2"};
  return kNames[u32(core)];
}

}  // namespace baretile::sim
