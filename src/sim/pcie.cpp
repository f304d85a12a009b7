#include "sim/pcie.h"

#include <fmt/format.h>

#include <cstring>

#include "sim/chip.h"
#include "sim/fault.h"
#include "sim/tile/tile.h"

namespace baretile::sim {
namespace {

constexpr u64 kBar0 = 0x1'0000'0000;  // 512 MiB
constexpr u64 kBar2 = 0x1'2000'0000;  // 1 MiB
constexpr u64 kBar4 = 0x8'0000'0000, kBar4Bytes = u64{32} << 30;
constexpr u64 kSmallWindow = u64{2} << 20, kLargeWindow = u64{4} << 30;
constexpr u64 kWindowRegs = kBar0 + 0x1FC00000, kNiu0 = kBar0 + 0x1FD04000, kNiu1 = kBar0 + 0x1FD14000;
constexpr u64 kIatu = kBar2 + 0x1000;
constexpr u32 kTranslationOn = 1u << 14;  // NIU_CFG_0
constexpr u64 kNocNiu0 = 0xFFFF'FFFF'FF00'0000;

constexpr u32 kConfigBytes = 0x40;
// What a write keeps of each configuration word: command, cache line, BARs, interrupt line, and which words refuse one
// (as ttsim v1.10).
constexpr u32 kWritable[kConfigBytes / 4] = {0, 0xFFFF,     0, 0xFFFF, 0xE0000000, ~0u, 0xFFF00000, ~0u,
                                             0, 0xFFFFFFF8, 0, 0,      0,          0,   0,          0xFF};
constexpr u32 kRefusesWrites = 1u << 0 | 1u << 2 | 1u << 10 | 1u << 11 | 1u << 13 | 1u << 14;  // by word

// A field of the 96-bit window register; it ends at most 64 bits after the word it begins in.
u64 field(const u32* words, u32 lo, u32 width) {
  const u32 first = lo / 32;
  const u64 bits = words[first] | (first < 2 ? u64{words[first + 1]} << 32 : 0);
  return bits >> lo % 32 & ((u64{1} << width) - 1);
}

[[noreturn]] void no_bar_register(const char* verb, u64 address, u32 bytes) {
  fault(FaultKind::not_modelled,
        fmt::format("host {} of {} bytes at physical address {:#x}: no window or modelled register", verb, bytes,
                    address));
}

}  // namespace

Pcie::Pcie(Chip& chip, HostMemory host) : chip_(chip), host_(host), iatu_(kIatuWords) {
  constexpr u32 k64BitMemory = 4;
  config_[0] = 0xB1401E52;
  config_[2] = 0x12000000;  // processing accelerator
  const u64 bases[] = {kBar0, kBar2, kBar4};
  for (u32 k = 0; k < 3; ++k) {
    config_[4 + 2 * k] = u32(bases[k]) | k64BitMemory;
    config_[5 + 2 * k] = u32(bases[k] >> 32);
  }
  config_[15] = 0xFF;
}

u32 Pcie::config_read(u32 bus_device_function, u32 offset) const {
  if (bus_device_function & ~0xF8u)
    fault(FaultKind::configuration,
          fmt::format("PCI bus/device/function {:#x}: bus and function must be 0", bus_device_function));
  if (offset % 4 != 0 || offset >= kConfigBytes)
    fault(FaultKind::not_modelled,
          fmt::format("PCI configuration offset {:#x}: aligned words below {:#x}", offset, kConfigBytes));
  return bus_device_function ? ~0u : config_[offset / 4];
}

void Pcie::config_write(u32 bus_device_function, u32 offset, u32 value) {
  if (bus_device_function || offset % 4 != 0 || offset >= kConfigBytes || kRefusesWrites >> offset / 4 & 1)
    fault(FaultKind::not_modelled,
          fmt::format("PCI configuration write, device {:#x} offset {:#x}", bus_device_function, offset));
  u32& word = config_[offset / 4];
  const bool bar = offset == 0x10 || offset == 0x18 || offset == 0x20;
  word = (value & kWritable[offset / 4]) | (bar ? word & 0xF : 0);
}

const Pcie::Window& Pcie::window(u32 index) {
  Window& w = windows_[index];
  if (!w.decoded) w = decode_window(index);
  return w;
}

// Word layout: tt-kmd blackhole.c, struct TLB_2M_REG and TLB_4G_REG.
Pcie::Window Pcie::decode_window(u32 index) const {
  const u32* words = &window_regs_[index * kWindowWords];
  const bool small = index < kSmallWindows;
  const u32 address_bits = small ? 43 : 32, xy = address_bits, flags = small ? 67 : 56;
  Window w{.base = field(words, 0, address_bits) << (small ? 21 : 32),
           .x = u32(field(words, xy, 6)),
           .y = u32(field(words, xy + 6, 6)),
           .x_start = u32(field(words, xy + 12, 6)),
           .y_start = u32(field(words, xy + 18, 6)),
           .multicast = field(words, flags + 2, 1) != 0,
           .decoded = true};
  const u64 noc = field(words, flags, 2), ordering = field(words, flags + 3, 2),
            others = field(words, flags + 5, 96 - flags - 5);
  if (noc != 0 || others != 0 || ordering == 3)
    fault(FaultKind::not_modelled,
          fmt::format("window {} {:08x} {:08x} {:08x}: NoC 0, ordering 0 to 2, no linked or static channel", index,
                      words[2], words[1], words[0]));
  if (!w.multicast && (w.x_start || w.y_start))
    fault(FaultKind::reserved_bits, fmt::format("window {}: x_start, y_start without multicast", index));
  if (w.multicast && !small)
    fault(FaultKind::not_modelled, fmt::format("window {}: multicast through a 4 GiB window", index));
  return w;
}

// The window an address falls in, or kWindows; `offset` inside it.
u32 Pcie::window_at(u64 address, u32 bytes, u64& offset) const {
  u64 size;
  u32 first;
  if (address >= kBar0 && address < kBar0 + kSmallWindows * kSmallWindow) {
    size = kSmallWindow, first = 0, offset = address - kBar0;
  } else if (address >= kBar4 && address < kBar4 + kBar4Bytes) {
    size = kLargeWindow, first = kSmallWindows, offset = address - kBar4;
  } else {
    return kWindows;
  }
  const u32 index = first + u32(offset / size);
  offset %= size;
  if (bytes > size - offset)
    fault(FaultKind::bad_address,
          fmt::format("{} bytes at offset {:#x} cross the end of window {}", bytes, offset, index));
  return index;
}

void Pcie::bar_read(u64 address, void* out, u32 bytes) {
  if (bytes == 0) fault(FaultKind::configuration, "host read of 0 bytes");
  u64 offset;
  const u32 index = window_at(address, bytes, offset);
  if (index == kWindows) {
    const u32 value = read_register(address, bytes);
    std::memcpy(out, &value, 4);
    return;
  }
  const Window& w = window(index);
  if (w.multicast) fault(FaultKind::undefined_behaviour, fmt::format("read through multicast window {}", index));
  chip_.read(chip_.at({w.x, w.y}), w.base + offset, out, bytes);
}

void Pcie::bar_write(u64 address, const void* data, u32 bytes) {
  if (bytes == 0) fault(FaultKind::configuration, "host write of 0 bytes");
  u64 offset;
  const u32 index = window_at(address, bytes, offset);
  if (index == kWindows) {
    u32 value = 0;
    if (bytes == 4) std::memcpy(&value, data, 4);
    return write_register(address, bytes, value);
  }
  const Window& w = window(index);
  if (!w.multicast) return chip_.write(chip_.at({w.x, w.y}), w.base + offset, data, bytes);
  const NocXY first{w.x_start, w.y_start}, last{w.x, w.y};
  if (last.x >= isa::kGridWidth || last.y >= isa::kGridHeight || first.x > last.x || first.y > last.y)
    fault(FaultKind::bad_address, fmt::format("multicast window {}: ({},{}) to ({},{}) is no rectangle of Tensix tiles",
                                              index, first.x, first.y, last.x, last.y));
  for (u32 tile : chip_.tiles_in({first, last})) chip_.tile(tile).write(w.base + offset, data, bytes);
}

u32 Pcie::read_niu(u64 offset) const {
  constexpr NocXY kRaw{2, 0};
  switch (offset) {
    case isa::kNiuNodeId:
      return node_id(0, kRaw);
    case 0x100:
      return kTranslationOn;
    default:
      fault(FaultKind::not_modelled, fmt::format("NIU register {:#x} of the PCIe tile", offset));
  }
}

u32 Pcie::read_register(u64 address, u32 bytes) const {
  if (bytes != 4 || address % 4 != 0) no_bar_register("read", address, bytes);
  if (address >= kNiu0 && address < kNiu0 + 0x1000) return read_niu(address - kNiu0);
  if (address == kNiu1 + isa::kNiuNodeId) return node_id(1, {2, 0});
  if (address == kNiu1 + 0x100) return kTranslationOn;
  if (address >= kIatu && address < kIatu + 4 * kIatuWords) return iatu_[(address - kIatu) / 4];
  no_bar_register("read", address, bytes);
}

void Pcie::write_register(u64 address, u32 bytes, u32 value) {
  if (bytes != 4 || address % 4 != 0) no_bar_register("write", address, bytes);
  if (address >= kWindowRegs && address < kWindowRegs + 4 * window_regs_.size()) {
    const u32 index = u32(address - kWindowRegs) / 4;
    window_regs_[index] = value;
    windows_[index / kWindowWords].decoded = false;
  } else if (address >= kIatu && address < kIatu + 4 * kIatuWords) {
    iatu_[(address - kIatu) / 4] = value;
  } else {
    no_bar_register("write", address, bytes);
  }
}

namespace {

// 64 regions of 2^58: 0-3 reach the host as they are, 4-7 through the outbound iATU, which is the identity here as on
// ttsim.
u64 host_address(u64 address) {
  constexpr u32 kRegionBits = 58, kHostRegions = 8;
  if (address >> kRegionBits >= kHostRegions)
    fault(FaultKind::not_modelled,
          fmt::format("PCIe tile address {:#x}: only host memory (regions 0 to 7) and NIU registers", address));
  return address & ((u64{1} << kRegionBits) - 1);
}

}  // namespace

void Pcie::noc_read(u64 address, void* out, u32 bytes) {
  if (address >= kNocNiu0) {
    if (bytes != 4)
      fault(FaultKind::bad_address, fmt::format("{} bytes of the PCIe tile's registers at {:#x}", bytes, address));
    const u32 value = read_niu(address - kNocNiu0);
    std::memcpy(out, &value, 4);
    return;
  }
  if (!host_.read) fault(FaultKind::configuration, "read of host memory, but no DMA callback is installed");
  host_.read(host_address(address), out, bytes);
}

void Pcie::noc_write(u64 address, const void* data, u32 bytes) {
  if (!host_.write) fault(FaultKind::configuration, "write of host memory, but no DMA callback is installed");
  host_.write(host_address(address), data, bytes);
}

}  // namespace baretile::sim
