// The card as PCI shows it: ids, BARs, and the windows through which the host reaches tiles. Freestanding.
// src: tt-isa-documentation BlackholeA0/PCIExpressTile/{README,HostToDeviceTLBs}.md; ids and BAR sizes read on ttsim
// v1.10.
#pragma once
#include "baretile/bits.h"

namespace baretile::isa {

inline constexpr u32 kVendorTenstorrent = 0x1E52, kDeviceBlackhole = 0xB140;
inline constexpr u64 kBar0Bytes = 512ull << 20, kBar2Bytes = 1ull << 20, kBar4Bytes = 32ull << 30;

inline constexpr u32 kSmallWindows = 201;  // 2 MiB each, from the start of BAR 0; number 201 belongs to tt-kmd
inline constexpr u32 kLargeWindow0 = 202, kLargeWindows = 8;  // 4 GiB each, from the start of BAR 4
inline constexpr u32 kSmallWindowShift = 21, kLargeWindowShift = 32;
inline constexpr u64 kWindowRegisters = 0x1FC00000;  // BAR 0: three words a window, written one by one
inline constexpr u32 kWindowRegisterBytes = 12;

// Order of accesses through one window. Strict keeps every order; of the others a read still waits for the writes
// before it (default), or not even that (posted). src: WormholeB0/PCIExpressTile/TLBs.md, "Ordering modes".
enum class WindowOrdering : u32 { relaxed = 0, strict = 1, posted = 2 };

struct WindowWords {
  u32 word[3] = {};
  friend constexpr bool operator==(const WindowWords&, const WindowWords&) = default;
};

struct WindowTarget {
  u64 addr = 0;                  // a multiple of the window's size
  u32 x = 0, y = 0;              // the tile, or the high corner of a multicast
  u32 first_x = 0, first_y = 0;  // the low corner; 0 when unicast
  bool multicast = false;
  WindowOrdering ordering = WindowOrdering::strict;
  friend constexpr bool operator==(const WindowTarget&, const WindowTarget&) = default;
};

constexpr WindowWords encode_small_window(const WindowTarget& t) {
  const u64 offset = t.addr >> kSmallWindowShift;  // 43 bits
  return {{u32(offset), u32(offset >> 32) | t.x << 11 | t.y << 17 | t.first_x << 23 | t.first_y << 29,
           t.first_y >> 3 | u32{t.multicast} << 5 | u32(t.ordering) << 6}};
}

constexpr WindowTarget decode_small_window(const WindowWords& w) {
  return {.addr = (w.word[0] | u64{extract(w.word[1], 0, 11)} << 32) << kSmallWindowShift,
          .x = extract(w.word[1], 11, 6),
          .y = extract(w.word[1], 17, 6),
          .first_x = extract(w.word[1], 23, 6),
          .first_y = w.word[1] >> 29 | extract(w.word[2], 0, 3) << 3,
          .multicast = extract(w.word[2], 5, 1) != 0,
          .ordering = WindowOrdering{extract(w.word[2], 6, 2)}};
}

// No multicast: ttsim refuses it, and nothing here needs it.
constexpr WindowWords encode_large_window(const WindowTarget& t) {
  return {{u32(t.addr >> kLargeWindowShift), t.x | t.y << 6 | u32(t.ordering) << 27, 0}};
}

constexpr WindowTarget decode_large_window(const WindowWords& w) {
  return {.addr = u64{w.word[0]} << kLargeWindowShift,
          .x = extract(w.word[1], 0, 6),
          .y = extract(w.word[1], 6, 6),
          .ordering = WindowOrdering{extract(w.word[1], 27, 2)}};
}

}  // namespace baretile::isa
