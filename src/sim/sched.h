// Time, and whose turn it is. Every running tile gets a quantum of clocks; cores that sleep cost nothing, and a tile
// written to by another in the same quantum runs again in it.
//
// Few tiles run one after the other, and what they do to each other happens at once. Many run apart, on several host
// threads: a core whose next instruction acts on anything but its own tile and DRAM waits there until all tiles have
// stopped, and then those instructions take turns, by clock, tile and core. Which of the two it is, and the order,
// depend on the program only, and never on the number of threads. Tiles that run apart have a longer quantum, also when
// the host asks for fewer clocks: the host's caches hold few of them, and to fetch one costs as much as some hundred
// clocks of it.
//
// DRAM is read and written directly all the while. Two tiles that use the same bytes, one of them writing, must be
// ordered by a message from one to the other's L1 or registers. It is delivered while no tile runs, after the first
// access and before the second, so no order of the tiles in between can show; a program without such a message is racy
// on the chip too.
#pragma once
#include <vector>

#include "sim/pool.h"
#include "sim/tile/core.h"

namespace baretile::sim {

class Scheduler {
 public:
  explicit Scheduler(u32 threads);
  void advance(u64 clocks);  // at least
  u64 clock() const;         // of the running core, or of the host; while tiles run apart each has its own
  void activate(Tile& tile);
  bool apart() const { return apart_; }
  // Who runs, for messages; nullptr for the host.
  const Core* current() const;
  const Tile* current_tile() const { return current_tile_; }

 private:
  static constexpr u64 kQuantum = 256, kQuantumApart = 4096;  // 0.046 s and 0.040 s for a product of 512
  static constexpr u32 kApart = 4;                            // tiles from which on they run apart
  void run_quantum();
  void run_apart(size_t first);
  void take_turns();
  void run_tile(Tile& tile);
  void run_core(Core& core, u64 end);
  void retire(Tile& tile);  // it has run for now

  std::vector<Tile*> queue_, next_;
  std::vector<Core*> turns_;
  u64 now_ = 0, limit_ = 0;
  Tile* current_tile_ = nullptr;
  bool apart_ = false;
  size_t first_apart_ = 0;
  Pool pool_;
};

}  // namespace baretile::sim
