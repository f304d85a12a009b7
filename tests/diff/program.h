// A Tensix program as three lists of actions, one a thread, played alike on a libttsim library (player.h) and on a bare
// Coprocessor (tests/sim/coprocessor_player.h). Addresses of L1 are below 0x150000 and above the lists (kDataBase).
#pragma once
#include <string>
#include <vector>

#include "baretile/isa/isa.h"

namespace baretile::diff {

inline constexpr u32 kListBase = 0x20000, kListStride = 0x10000, kDataBase = 0x60000;
inline constexpr u32 kMaxActions = (kListStride - 16) / 8;

// What a core does with one entry; the player's machine code knows these numbers.
enum class Act : u32 {
  push = 0,
  config = 1,
  drain = 2,
  mop = 3,
  semaphore = 4,
  gpr = 5,
  save_config = 6,
  save_gpr = 7,
  save_semaphore = 8
};

struct Action {
  u32 head, value;  // head: act << 24 | register (or L1 address / 16)
  Act act() const { return Act(head >> 24); }
  u32 index() const { return head & 0xFFFFFF; }
};

class List {
 public:
  void push(u32 word) { add(Act::push, 0, word); }
  template <class Insn>
  void push(const Insn& insn) {
    push(isa::encode(insn));
  }
  void config(u32 word, u32 value) { add(Act::config, word, value); }
  void drain() { add(Act::drain, 0, 0); }
  void mop(u32 index, u32 value) { add(Act::mop, index, value); }
  void semaphore(u32 sem, bool get) { add(Act::semaphore, sem, get); }
  void gpr(u32 index, u32 value) { add(Act::gpr, index, value); }
  void save_config(u32 l1, u32 word) { add(Act::save_config, l1 / 16, word); }
  void save_gpr(u32 l1, u32 index) { add(Act::save_gpr, l1 / 16, index); }
  void save_semaphore(u32 l1, u32 sem) { add(Act::save_semaphore, l1 / 16, sem); }
  const std::vector<Action>& actions() const { return actions_; }

 private:
  void add(Act act, u32 index, u32 value) { actions_.push_back({u32(act) << 24 | index, value}); }
  std::vector<Action> actions_;
};

struct Patch {
  u32 addr;
  std::vector<u8> bytes;
};

struct Case {
  std::string name;
  List thread[3];
  std::vector<Patch> inputs;
  u32 out_addr = 0, out_bytes = 0;
};

struct Outcome {
  enum class End { done, fault, stuck } end = End::stuck;
  u32 epoch = 0;        // cases of one epoch ran one after another on the same chip
  std::string message;  // the fault's line, or what the threads waited for
  std::vector<u8> output;
  u32 hash() const {  // FNV-1a of the output
    u32 h = 2166136261u;
    for (u8 byte : output) h = (h ^ byte) * 16777619u;
    return h;
  }
};

}  // namespace baretile::diff
