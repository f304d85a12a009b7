// One thread's way into the coprocessor: instruction FIFO, MOP expander, replay expander (MOPExpander.md, REPLAY.md).
#pragma once
#include <array>

#include "baretile/bits.h"

namespace baretile::sim {

class Frontend {
 public:
  bool can_push() const { return tail_ - head_ < kFifoWords; }
  void push(u32 word);
  void write_mop_config(u32 index, u32 value);
  bool mop_idle() const { return !queued_mops_ && !repeats_; }
  bool idle() const { return !waiting && head_ == tail_ && !repeats_ && play_ == play_end_; }

  // Makes `word` the thread's next instruction; false when there is none. `waiting` keeps it for the next turn.
  bool fetch() {
    if (play_ == play_end_) return fetch_new();
    word = replay_[play_++ % kReplayWords];
    return true;
  }
  u32 word = 0;
  bool waiting = false;

 private:
  static constexpr u32 kFifoWords = 1024, kReplayWords = 32, kMopWords = 9;

  bool fetch_new();
  bool next_expanded(u32& out);
  void start_mop(u32 mop);
  u32 next_of_mop();
  u32 template0_word();
  u32 template1_word();

  std::array<u32, kFifoWords> fifo_{};
  u32 head_ = 0, tail_ = 0, queued_mops_ = 0;

  // The MOP being expanded: `repeats_` rounds left (0: none), each of `steps_` instructions.
  std::array<u32, kMopWords> mop_config_{};
  u32 mask_high_ = 0;
  bool template1_ = false, has_start_ = false;
  u32 repeats_ = 0, step_ = 0, steps_ = 0, skip_mask_ = 0, inner_ = 0, loop_op_ = 0, loop_flip_ = 0;

  std::array<u32, kReplayWords> replay_{};
  u32 play_ = 0, play_end_ = 0, load_index_ = 0, load_left_ = 0;
  bool run_while_loading_ = false;
};

}  // namespace baretile::sim
