#include "baretile/chip.h"

#include <fmt/format.h>

#include <thread>

#include "baretile/error.h"
#include "baretile/isa/mmio.h"
#include "chip/arc.h"
#include "chip/window.h"

namespace baretile {

using std::chrono::steady_clock;

static void check_alive(Device& device) {
  const u32 id = device.config_read(0);
  if (id != (isa::kDeviceBlackhole << 16 | isa::kVendorTenstorrent))
    throw DeviceError(
        fmt::format("{} answers PCI id {:#010x} instead of {:#06x}:{:#06x}; reset the card (all ones: it left the bus)",
                    device.info().path, id, isa::kVendorTenstorrent, isa::kDeviceBlackhole),
        device.info().path);
}

Chip::Chip(std::unique_ptr<Device> device) : device_(std::move(device)) {
  check_alive(*device_);
  simulated_ = info().kind == DeviceKind::ttsim || info().kind == DeviceKind::sim;
  windows_ = std::make_unique<Windows>(*device_);
  arc_ = std::make_unique<Arc>(*this);
  find_tiles();
}

Chip::~Chip() = default;
Chip::Chip(Chip&& other) noexcept
    : device_(std::move(other.device_)),
      windows_(std::move(other.windows_)),
      arc_(std::move(other.arc_)),
      tiles_(std::move(other.tiles_)),
      dram_banks_(std::move(other.dram_banks_)),
      raw_columns_(std::move(other.raw_columns_)),
      raw_banks_(std::move(other.raw_banks_)),
      columns_(other.columns_),
      simulated_(other.simulated_) {
  arc_->attach(*this);
}

void Chip::write(NocXY tile, u64 addr, std::span<const std::byte> data) { windows_->write(tile, addr, data); }
void Chip::read(NocXY tile, u64 addr, std::span<std::byte> out) { windows_->read(tile, addr, out); }
void Chip::multicast(NocRect tiles, u64 addr, std::span<const std::byte> data) {
  windows_->multicast(tiles, addr, data);
}
void Chip::fence() { windows_->fence(); }
u64 Chip::host_accesses() const { return windows_->accesses(); }

u32 Chip::read32(NocXY tile, u64 addr) {
  u32 value = 0;
  read(tile, addr, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

void Chip::set_soft_reset(NocXY tile, u32 held) { write32(tile, isa::kSoftReset, held); }
void Chip::set_soft_reset(NocRect tiles, u32 held) { multicast32(tiles, isa::kSoftReset, held); }

// src: BlackholeA0/TensixTile/SoftReset.md: each start address counts once its override bit is set.
void Chip::set_reset_pc(NocRect tiles, u32 trisc0, u32 trisc1, u32 trisc2, u32 ncrisc) {
  const u32 triscs[] = {trisc0, trisc1, trisc2};
  multicast(tiles, isa::kTriscResetPc, std::as_bytes(std::span(triscs)));
  multicast32(tiles, isa::kTriscResetPcOverride, 7);
  multicast32(tiles, isa::kNcriscResetPc, ncrisc);
  multicast32(tiles, isa::kNcriscResetPcOverride, 1);
}

void Chip::wait_until(std::string_view name, std::chrono::milliseconds deadline, const std::function<bool()>& done,
                      const std::function<std::string()>& evidence) {
  const auto start = steady_clock::now();
  u32 step = 16;  // clocks; small at first, as most waits are short and a clock of busy tiles costs microseconds
  try {
    while (!done()) {
      const auto waited = steady_clock::now() - start;
      if (waited > deadline) {
        check_alive(*device_);
        const std::string more = evidence ? "; " + evidence() : "";
        throw DeviceError(fmt::format("waited {} ms for {} on {}{}", deadline.count(), name, info().name, more),
                          info().name, std::string(name));
      }
      device_->progress(step);
      step = std::min(step * 2, 512u);
      if (!simulated_ && waited > std::chrono::milliseconds(1))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  } catch (const SimFault& fault) {
    throw SimFault(fmt::format("{}, while waiting for {}", fault.what(), name), fault.kind);
  }
}

}  // namespace baretile
