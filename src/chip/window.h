// Which address of BAR 0 or BAR 4 shows which part of which tile: the only place that touches window registers.
#pragma once
#include "baretile/chip.h"
#include "baretile/isa/pcie.h"

namespace baretile {

class Chip::Windows {
 public:
  explicit Windows(Device& device);

  // Says which tiles exist; before that only the ARC is reachable.
  void set_map(std::span<const NocXY> tensix, std::span<const NocXY> dram_banks);
  void write(NocXY tile, u64 addr, std::span<const std::byte> data);
  void read(NocXY tile, u64 addr, std::span<std::byte> out);
  void multicast(NocRect tiles, u64 addr, std::span<const std::byte> data);
  void fence();
  u64 accesses() const { return accesses_; }

 private:
  static constexpr u8 kNothing = 0, kTensix = 1, kArc = 2, kDram = 3;  // kDram + bank
  static constexpr u32 kWays = 4, kSets = 16;  // 64 of the 201 windows: other programs want some too

  struct Place {
    int bar;
    u64 offset;
    u64 bytes;  // from there to the end of the window
  };

  u8 kind(NocXY tile) const { return tile.x < 32 && tile.y < 32 ? map_[tile.y * 32 + tile.x] : kNothing; }
  bool check(NocXY tile, u64 addr, u64 bytes) const;  // true: registers, to be accessed word by word
  Place place(NocXY tile, u64 addr);
  Place place_small(const isa::WindowTarget& target, u64 addr);
  Place place_dram(u32 bank, u64 addr);
  void set_window(u32 index, const isa::WindowWords& words);

  Device& device_;
  std::array<u8, 32 * 32> map_{};
  std::vector<NocXY> dram_banks_;
  std::array<std::array<isa::WindowWords, kWays>, kSets> small_{};  // what each window shows; all zero: nothing
  std::array<u8, kSets> next_way_{};
  u32 large_windows_;
  u32 large_set_ = 0;  // bit per bank whose 4 GiB window is set up
  bool dram_written_ = false;
  NocXY last_dram_tile_;
  u64 last_dram_addr_ = 0;
  u64 accesses_ = 0;
};

// "tile 3-4"
std::string tile_name(NocXY tile);

}  // namespace baretile
