// A simulated chip for tests, without the C interface: code goes into a tile, faults come out as values.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "diff/diff_rv32_case.h"  // the RISC-V encoders
#include "sim/chip.h"
#include "sim/fault.h"
#include "sim/tile/tile.h"

namespace baretile::sim {

struct Board {
  explicit Board(Shape shape = {.tiles = 140, .banks = 8}, HostMemory host = {}) : chip(shape, host) {}

  Tile& tile(u32 x = 1, u32 y = 2) { return chip.tile(chip.at({x, y}).index); }
  u32 read32(u64 address, u32 x = 1, u32 y = 2) {
    u32 value;
    chip.read(chip.at({x, y}), address, &value, 4);
    return value;
  }
  void write32(u64 address, u32 value, u32 x = 1, u32 y = 2) { chip.write(chip.at({x, y}), address, &value, 4); }
  void write_code(u32 address, const std::vector<u32>& words, u32 x = 1, u32 y = 2) {
    chip.write(chip.at({x, y}), address, words.data(), u32(words.size() * 4));
  }
  // Code for one core at the address it starts from without an override.
  void load(isa::Core core, const std::vector<u32>& words, u32 x = 1, u32 y = 2) {
    constexpr u32 kStart[] = {0, 0x12000, 0x6000, 0xA000, 0xE000};
    write_code(kStart[u32(core)], words, x, y);
  }
  void release(std::initializer_list<isa::Core> cores, u32 x = 1, u32 y = 2) {
    u32 hold = isa::kHoldAll;
    for (isa::Core core : cores) hold &= ~diff::kHold[u32(core)];
    write32(isa::kSoftReset, hold, x, y);
  }
  void run(u64 clocks) { chip.scheduler().advance(clocks); }
  // BRISC of tile (1,2) runs `words` from 0.
  void run_brisc(const std::vector<u32>& words, u64 clocks = 1000) {
    load(isa::Core::brisc, words);
    release({isa::Core::brisc});
    run(clocks);
  }

  Chip chip;
};

// The message of the fault an action throws, with its kind in front; "no fault" if there is none.
template <class Action>
std::string fault_of(Action action) {
  try {
    action();
  } catch (const Fault& f) {
    return std::string(name_of(f.kind)) + ": " + f.message;
  }
  return "no fault";
}

// li rd, value
inline std::vector<u32> li(u32 rd, u32 value) {
  return {diff::rv32::lui(diff::rv32::hi20(value), rd), diff::rv32::addi(rd, rd, diff::rv32::lo12(value))};
}
inline std::vector<u32> join(std::initializer_list<std::vector<u32>> parts) {
  std::vector<u32> all;
  for (const std::vector<u32>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
inline constexpr u32 kStay = 0x0000006F;  // j .

}  // namespace baretile::sim
