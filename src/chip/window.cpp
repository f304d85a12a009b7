#include "chip/window.h"

#include <fmt/format.h>

#include "baretile/error.h"
#include "baretile/isa/grid.h"
#include "baretile/isa/mmio.h"

namespace baretile {
namespace {

constexpr u64 kRegisters = 0x80000000, kRegistersEnd = 1ull << 32;  // on Tensix and ARC tiles
constexpr u64 kArcMemory = 0x10000000, kArcMemoryEnd = 0x10080000;  // src: tt-kmd blackhole.c, the ARC's CSM

// The simulator's message says what it refused, not for which tile.
template <class Access>
void with_tile(const char* verb, NocXY tile, u64 addr, size_t bytes, Access access) {
  try {
    access();
  } catch (const SimFault& fault) {
    throw SimFault(fmt::format("{} ({} {} bytes at {:#x} of {})", fault.what(), verb, bytes, addr, tile_name(tile)),
                   fault.kind);
  }
}

}  // namespace

std::string tile_name(NocXY tile) { return fmt::format("tile {}-{}", tile.x, tile.y); }

Chip::Windows::Windows(Device& device)
    : device_(device),
      large_windows_(u32(std::min<u64>(device.bar_bytes(4) >> isa::kLargeWindowShift, isa::kLargeWindows))) {
  map_[isa::kArcY * 32 + isa::kArcX] = kArc;
}

void Chip::Windows::set_map(std::span<const NocXY> tensix, std::span<const NocXY> dram_banks) {
  for (const NocXY t : tensix) map_[t.y * 32 + t.x] = kTensix;
  dram_banks_.assign(dram_banks.begin(), dram_banks.end());
  for (u32 bank = 0; bank < dram_banks.size(); bank++)
    for (u32 port = 0; port < isa::kDramPorts; port++)
      map_[(dram_banks[bank].y + port) * 32 + dram_banks[bank].x] = u8(kDram + bank);
}

bool Chip::Windows::check(NocXY tile, u64 addr, u64 bytes) const {
  const u8 k = kind(tile);
  if (k == kNothing)
    throw UsageError(
        fmt::format("{} is no Tensix, DRAM or ARC tile of this chip; take one from Chip::tiles()", tile_name(tile)));
  const u64 start = k == kArc ? kArcMemory : 0, end = k == kTensix ? isa::kL1Bytes
                                                      : k == kArc  ? kArcMemoryEnd
                                                                   : isa::kDramBankBytes;
  if (addr >= start && addr <= end && bytes <= end - addr) return false;
  if (k < kDram && addr >= kRegisters && addr <= kRegistersEnd && bytes <= kRegistersEnd - addr) {
    if (addr % 4 == 0 && bytes % 4 == 0) return true;
    throw UsageError(
        fmt::format("{} bytes at {:#x} of {}: registers take whole aligned words", bytes, addr, tile_name(tile)));
  }
  throw UsageError(fmt::format("{} bytes at {:#x} of {} do not lie in its memory, {:#x} to {:#x}", bytes, addr,
                               tile_name(tile), start, end));
}

void Chip::Windows::set_window(u32 index, const isa::WindowWords& words) {
  for (u32 i = 0; i < 3; i++)
    device_.write(0, isa::kWindowRegisters + index * isa::kWindowRegisterBytes + 4 * i,
                  std::as_bytes(std::span(&words.word[i], 1)));
  accesses_ += 3;
}

Chip::Windows::Place Chip::Windows::place_small(const isa::WindowTarget& target, u64 addr) {
  const isa::WindowWords words = isa::encode_small_window(target);
  const u32 hash = (words.word[0] ^ words.word[1] >> 11 ^ words.word[1] >> 14) * 0x9E3779B1u;
  const u32 set = hash >> 28;
  auto& ways = small_[set];
  u32 way = 0;
  while (way < kWays && ways[way] != words) way++;
  if (way == kWays) {
    way = next_way_[set]++ % kWays;
    set_window(set * kWays + way, words);
    ways[way] = words;
  }
  constexpr u64 kBytes = 1ull << isa::kSmallWindowShift;
  return {0, (set * kWays + way) * kBytes + addr % kBytes, kBytes - addr % kBytes};
}

// A bank fits a 4 GiB window, so with 32 GiB of BAR 4 each has its own for good.
Chip::Windows::Place Chip::Windows::place_dram(u32 bank, u64 addr) {
  const NocXY port = dram_banks_[bank];
  if (bank >= large_windows_)
    return place_small({.addr = addr, .x = port.x, .y = port.y, .ordering = isa::WindowOrdering::relaxed}, addr);
  if (!(large_set_ >> bank & 1)) {
    set_window(isa::kLargeWindow0 + bank,
               isa::encode_large_window({.x = port.x, .y = port.y, .ordering = isa::WindowOrdering::relaxed}));
    large_set_ |= 1u << bank;
  }
  return {4, (u64{bank} << isa::kLargeWindowShift) + addr, (1ull << isa::kLargeWindowShift) - addr};
}

Chip::Windows::Place Chip::Windows::place(NocXY tile, u64 addr) {
  const u8 k = kind(tile);
  if (k >= kDram) return place_dram(k - kDram, addr);
  return place_small({.addr = addr, .x = tile.x, .y = tile.y}, addr);
}

void Chip::Windows::write(NocXY tile, u64 addr, std::span<const std::byte> data) {
  const bool registers = check(tile, addr, data.size());
  if (kind(tile) >= kDram && !data.empty()) dram_written_ = true, last_dram_tile_ = tile, last_dram_addr_ = addr;
  with_tile("writing", tile, addr, data.size(), [&] {
    for (u64 done = 0; done < data.size();) {
      const Place p = place(tile, addr + done);
      const u64 n = registers ? 4 : std::min<u64>(p.bytes, data.size() - done);
      device_.write(p.bar, p.offset, data.subspan(done, n));
      accesses_++;
      done += n;
    }
  });
}

void Chip::Windows::read(NocXY tile, u64 addr, std::span<std::byte> out) {
  const bool registers = check(tile, addr, out.size());
  with_tile("reading", tile, addr, out.size(), [&] {
    for (u64 done = 0; done < out.size();) {
      const Place p = place(tile, addr + done);
      const u64 n = registers ? 4 : std::min<u64>(p.bytes, out.size() - done);
      device_.read(p.bar, p.offset, out.subspan(done, n));
      accesses_++;
      done += n;
    }
  });
}

void Chip::Windows::multicast(NocRect tiles, u64 addr, std::span<const std::byte> data) {
  const NocXY first = tiles.first, last = tiles.last;
  if (kind(first) != kTensix || kind(last) != kTensix || first.x > last.x || first.y > last.y ||
      (first.x < 8) != (last.x < 8))
    throw UsageError(fmt::format(
        "multicast from {} to {} is no rectangle of Tensix tiles on one side of columns 8 and 9; see noc::cover",
        tile_name(first), tile_name(last)));
  const bool registers = check(first, addr, data.size());
  with_tile("multicasting", last, addr, data.size(), [&] {
    for (u64 done = 0; done < data.size();) {
      const Place p = place_small(
          {.addr = addr + done, .x = last.x, .y = last.y, .first_x = first.x, .first_y = first.y, .multicast = true},
          addr + done);
      const u64 n = registers ? 4 : std::min<u64>(p.bytes, data.size() - done);
      device_.write(p.bar, p.offset, data.subspan(done, n));
      accesses_++;
      done += n;
    }
  });
}

// DRAM windows let writes overtake each other, but a read waits for the acknowledgement of every write before it.
// src: WormholeB0/PCIExpressTile/TLBs.md, "Ordering modes", default.
void Chip::Windows::fence() {
  if (!dram_written_) return;
  dram_written_ = false;
  std::byte last;
  read(last_dram_tile_, last_dram_addr_, {&last, 1});
}

}  // namespace baretile
