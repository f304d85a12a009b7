// The simulated chip: its grid of tiles, DRAM, ARC and PCIe, and what stands at each NoC coordinate.
#pragma once
#include <memory>
#include <vector>

#include "baretile/isa/grid.h"
#include "sim/arc.h"
#include "sim/dram.h"
#include "sim/noc.h"
#include "sim/pcie.h"
#include "sim/sched.h"

namespace baretile::sim {

struct Shape {
  u32 tiles = 120, banks = 8;
  u32 threads = 1;  // of the host
};
Shape shape_from_environment();  // BARETILE_SIM_GRID=(110|120|130|140)x(7|8), BARETILE_SIM_THREADS=1…64

enum class Place : u8 { nothing, tensix, dram, pcie, arc, harvested, ethernet, unmodelled };

struct Endpoint {
  Place place = Place::nothing;
  u8 index = 0;  // tile or DRAM bank
};

struct NocRect {
  NocXY first, last;  // translated, first <= last
};

class Chip {
 public:
  Chip(Shape shape, HostMemory host);
  ~Chip();

  Scheduler& scheduler() { return scheduler_; }
  Pcie& pcie() { return pcie_; }
  Tile& tile(u32 index) { return *tiles_[index]; }
  u32 tiles() const { return u32(tiles_.size()); }

  Endpoint find(NocXY xy) const;
  Endpoint at(NocXY xy) const;  // a Fault where nothing that is modelled stands
  // Indices of the Tensix tiles inside a rectangle; columns and rows of other tiles drop out of it.
  std::vector<u32> tiles_in(NocRect rect) const;
  void read(Endpoint from, u64 address, void* out, u32 bytes);
  void write(Endpoint to, u64 address, const void* data, u32 bytes);
  // Plain memory there, or nullptr.
  u8* memory(Endpoint at, u64 address, u32 bytes);

  std::string where() const;                     // the core that runs, for messages: "tile (1,2) brisc pc 0x10: lw …"
  std::string describe(bool with_held = false);  // a line a core: what it does or waits for

 private:
  static constexpr u32 kSide = 32;
  Endpoint& place(NocXY xy) { return map_[xy.y * kSide + xy.x]; }
  void place_tensix(const Shape& shape);
  void place_dram(const Shape& shape);
  void place_others();

  Scheduler scheduler_;
  Dram dram_;
  Mapping l1_, local_ram_;
  Arc arc_;
  Pcie pcie_;
  std::vector<std::unique_ptr<Tile>> tiles_;
  std::array<Endpoint, kSide * kSide> map_{};
};

}  // namespace baretile::sim
