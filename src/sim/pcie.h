// The PCIe tile: configuration space and BARs towards the host (tt-kmd blackhole.c), host memory towards the chip.
#pragma once
#include <array>
#include <vector>

#include "baretile/bits.h"

namespace baretile::sim {

class Chip;

// The host's memory, as libttsim_set_pci_dma_mem_callbacks installs it.
struct HostMemory {
  void (*read)(u64 address, void* out, u32 bytes) = nullptr;
  void (*write)(u64 address, const void* data, u32 bytes) = nullptr;
};

class Pcie {
 public:
  Pcie(Chip& chip, HostMemory host);

  u32 config_read(u32 bus_device_function, u32 offset) const;
  void config_write(u32 bus_device_function, u32 offset, u32 value);
  void bar_read(u64 address, void* out, u32 bytes);
  void bar_write(u64 address, const void* data, u32 bytes);

  // From the NoC: host memory, or the tile's own NIU registers.
  void noc_read(u64 address, void* out, u32 bytes);
  void noc_write(u64 address, const void* data, u32 bytes);

 private:
  static constexpr u32 kWindows = 210, kSmallWindows = 202, kWindowWords = 3, kIatuWords = 0x1000;
  struct Window {
    u64 base = 0;
    u32 x = 0, y = 0, x_start = 0, y_start = 0;
    bool multicast = false, decoded = false;
  };

  const Window& window(u32 index);
  Window decode_window(u32 index) const;
  u32 window_at(u64 address, u32 bytes, u64& offset) const;
  u32 read_register(u64 address, u32 bytes) const;
  void write_register(u64 address, u32 bytes, u32 value);
  u32 read_niu(u64 offset) const;

  Chip& chip_;
  HostMemory host_;
  std::array<u32, 16> config_{};
  std::array<u32, kWindows * kWindowWords> window_regs_{};
  std::array<Window, kWindows> windows_{};  // decoded when first used
  std::vector<u32> iatu_;
};

}  // namespace baretile::sim
