#include "sim/chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "sim/fault.h"
#include "sim/tile/tile.h"

namespace baretile::sim {
namespace {

u32 threads_from_environment() {
  constexpr u32 kPresetMost = 4, kMost = 64;
  const char* text = std::getenv("BARETILE_SIM_THREADS");
  if (!text) return std::clamp(std::thread::hardware_concurrency(), 1u, kPresetMost);
  for (u32 threads = 1; threads <= kMost; ++threads)
    if (fmt::format("{}", threads) == text) return threads;
  fault(FaultKind::configuration, fmt::format("BARETILE_SIM_THREADS={}: use 1 to {}", text, kMost));
}

u32 columns(const Shape& shape) { return shape.tiles / isa::kTensixRows; }

// Raw x of the columns in use, ascending. The columns given up stand in the middle, so that raw and translated differ.
std::vector<u32> live_columns(u32 count) {
  constexpr u32 kGivenUpFirst[] = {11, 3, 14};
  std::vector<u32> live(std::begin(isa::kTensixColumns), std::end(isa::kTensixColumns));
  for (u32 k = 0; live.size() > count; ++k) std::erase(live, kGivenUpFirst[k]);
  return live;
}

u32 harvest_mask(const Shape& shape) {  // telemetry tag 34: a set bit is a live column
  const std::vector<u32> live = live_columns(columns(shape));
  u32 mask = 0;
  for (u32 bit = 0; bit < std::size(isa::kTensixHarvestOrder); ++bit)
    if (std::find(live.begin(), live.end(), isa::kTensixHarvestOrder[bit]) != live.end()) mask |= 1u << bit;
  return mask;
}

}  // namespace

Shape shape_from_environment() {
  const Shape preset{.threads = threads_from_environment()};
  const char* text = std::getenv("BARETILE_SIM_GRID");
  if (!text) return preset;
  for (const u32 tiles : {110, 120, 130, 140})
    for (const u32 banks : {7, 8})
      if (fmt::format("{}x{}", tiles, banks) == text) return {tiles, banks, preset.threads};
  fault(FaultKind::configuration,
        fmt::format("BARETILE_SIM_GRID={}: use 110, 120, 130 or 140 tiles and 7 or 8 banks, as 120x8", text));
}

Chip::Chip(Shape shape, HostMemory host)
    : scheduler_(shape.threads),
      l1_(size_t{shape.tiles} * isa::kL1Bytes),
      local_ram_(size_t{shape.tiles} * kLocalRamBytes),
      arc_({.tensix_columns = harvest_mask(shape), .dram_banks = shape.banks == 8 ? 0xFFu : 0x7Fu}),
      pcie_(*this, host) {
  place_tensix(shape);
  place_dram(shape);
  place_others();
}

Chip::~Chip() = default;

void Chip::place_tensix(const Shape& shape) {
  const std::vector<u32> live = live_columns(columns(shape));
  for (u32 row = 0; row < isa::kTensixRows; ++row) {
    const u32 y = isa::kTensixRow0 + row;
    for (u32 column = 0; column < std::size(isa::kTensixColumns); ++column) {
      const NocXY translated{isa::kTensixColumns[column], y};
      if (column >= live.size()) {
        place(translated) = {Place::harvested, 0};
        continue;
      }
      const u32 index = u32(tiles_.size());
      const TileMemory memory{l1_.data() + size_t{index} * isa::kL1Bytes,
                              local_ram_.data() + size_t{index} * kLocalRamBytes};
      tiles_.push_back(std::make_unique<Tile>(*this, index, NocXY{live[column], y}, translated, memory));
      place(translated) = {Place::tensix, u8(index)};
    }
  }
}

// Bank b of a translated column takes y 12+3b … 14+3b; a bank that is off is the last of the second column. Raw
// coordinates as on ttsim v1.10: raw column 9 is x 17, raw column 0 is x 18 and answers on its first two rows only.
void Chip::place_dram(const Shape& shape) {
  constexpr u32 kBanksPerColumn = 4;
  constexpr u8 kRawBank[12] = {0, 0, 1, 1, 3, 2, 2, 2, 3, 3, 1, 0};
  for (u32 bank = 0; bank < shape.banks; ++bank) {
    const u32 x = bank < kBanksPerColumn ? isa::kDramX0 : isa::kDramX1;
    for (u32 port = 0; port < isa::kDramPorts; ++port)
      place({x, isa::kDramY0 + bank % kBanksPerColumn * isa::kDramPorts + port}) = {Place::dram, u8(bank)};
  }
  for (u32 y = 0; y < std::size(kRawBank); ++y) place({9, y}) = {Place::dram, kRawBank[y]};
  place({0, 0}) = place({0, 1}) = {Place::dram, kBanksPerColumn};
}

void Chip::place_others() {
  place({isa::kPcieX, isa::kPcieY}) = place({2, 0}) = {Place::pcie, 0};
  place({isa::kArcX, isa::kArcY}) = {Place::arc, 0};
  for (u32 x = 20; x < 32; ++x) place({x, 25}) = {Place::ethernet, 0};
  for (u32 y = 26; y <= 30; ++y) place({8, y}) = {Place::unmodelled, 0};  // L2CPU and security
}

Endpoint Chip::find(NocXY xy) const { return xy.x < kSide && xy.y < kSide ? map_[xy.y * kSide + xy.x] : Endpoint{}; }

Endpoint Chip::at(NocXY xy) const {
  const Endpoint found = find(xy);
  if (found.place >= Place::tensix && found.place <= Place::arc) return found;
  const std::string name = fmt::format("NoC coordinate ({},{})", xy.x, xy.y);
  switch (found.place) {
    case Place::harvested:
      fault(FaultKind::bad_address, name + ": that Tensix column is harvested (telemetry tag 34)");
    case Place::ethernet:
      fault(FaultKind::not_modelled, name + ": Ethernet tiles");
    case Place::unmodelled:
      fault(FaultKind::not_modelled, name + ": L2CPU and security tiles");
    default:
      fault(FaultKind::bad_address, name + ": no tile there; use translated coordinates");
  }
}

std::vector<u32> Chip::tiles_in(NocRect rect) const {
  std::vector<u32> found;
  for (u32 y = rect.first.y; y <= rect.last.y && y < kSide; ++y)
    for (u32 x = rect.first.x; x <= rect.last.x && x < kSide; ++x)
      if (const Endpoint e = map_[y * kSide + x]; e.place == Place::tensix) found.push_back(e.index);
  return found;
}

u8* Chip::memory(Endpoint at, u64 address, u32 bytes) {
  switch (at.place) {
    case Place::tensix:
      return tile(at.index).memory(address, bytes);
    case Place::dram:
      return dram_.at(at.index, address, bytes);
    default:
      return nullptr;
  }
}

void Chip::read(Endpoint from, u64 address, void* out, u32 bytes) {
  switch (from.place) {
    case Place::tensix:
      return tile(from.index).read(address, out, bytes);
    case Place::dram:
      std::memcpy(out, dram_.at(from.index, address, bytes), bytes);
      return;
    case Place::pcie:
      return pcie_.noc_read(address, out, bytes);
    case Place::arc:
      return arc_.read(address, out, bytes);
    default:
      fault(FaultKind::internal, "read of a place without memory");
  }
}

void Chip::write(Endpoint to, u64 address, const void* data, u32 bytes) {
  switch (to.place) {
    case Place::tensix:
      return tile(to.index).write(address, data, bytes);
    case Place::dram:
      std::memcpy(dram_.at(to.index, address, bytes), data, bytes);
      return;
    case Place::pcie:
      return pcie_.noc_write(address, data, bytes);
    case Place::arc:
      return arc_.write(address, data, bytes);
    default:
      fault(FaultKind::internal, "write of a place without memory");
  }
}

std::string Chip::where() const {
  const Core* core = scheduler_.current();
  const Tile* tile = scheduler_.current_tile();
  if (!tile) return "host access";
  const NocXY at = tile->translated();
  if (!core) return fmt::format("tile ({},{}) Tensix coprocessor", at.x, at.y);
  std::string insn = "outside L1";
  if (core->pc < isa::kL1Bytes) {
    u32 word;
    std::memcpy(&word, tile->l1() + (core->pc & ~3u), 4);
    insn = disassemble(word);
  }
  return fmt::format("tile ({},{}) {} pc {:#x}: {}", at.x, at.y, name_of(core->id), core->pc, insn);
}

std::string Chip::describe(bool with_held) {
  std::string text;
  for (auto& tile : tiles_)
    for (const Core& core : tile->cores())
      if (with_held || core.state != CoreState::held)
        text += fmt::format("tile ({},{}) {}\n", tile->translated().x, tile->translated().y, tile->describe(core));
  return text;
}

}  // namespace baretile::sim
