// One Blackhole seen from the host: its tiles and DRAM banks, memory access through windows, ARC, clocks, resets and
// waits.
//   Chip chip(open_device());  chip.write32(chip.tiles()[0], 0x1000, 42);  u32 word = chip.read32(chip.tiles()[0],
//   0x1000);
#pragma once
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "baretile/device.h"

#pragma GCC visibility push(default)
namespace baretile {

// A tile as the NoC addresses it: translated NoC 0 coordinates, the same numbers on both NoCs.
struct NocXY {
  u8 x = 0, y = 0;
  friend constexpr bool operator==(NocXY, NocXY) = default;
};

// A Tensix tile by live column and row, both from 0 and without gaps.
struct LogicalXY {
  u8 x = 0, y = 0;
  friend constexpr bool operator==(LogicalXY, LogicalXY) = default;
};

// A multicast rectangle of Tensix tiles, both corners inside, `first` the low one. It must not span columns 8 and 9;
// see noc/multicast.h.
struct NocRect {
  NocXY first, last;
  friend constexpr bool operator==(NocRect, NocRect) = default;
};

NocXY to_noc(LogicalXY tile);
std::optional<LogicalXY> to_logical(NocXY tile);  // empty for a coordinate that is not a Tensix tile's

// Telemetry the driver itself uses; telemetry_table() gives everything the firmware offers.
enum class TelemetryTag : u32 {
  board_id_high = 1,
  board_id_low = 2,
  aiclk = 14,
  firmware_bundle = 28,
  timer_heartbeat = 32,
  tensix_columns = 34,
  gddr_banks = 36,
};

struct TelemetryEntry {
  u32 tag = 0;
  std::string_view name;     // "tag 99" is called "unknown"
  std::optional<u32> value;  // empty: offered, but it read as all ones
};

// Answer of the ARC firmware: word 0 holds the status in its low byte (0 is success).
using ArcReply = std::array<u32, 8>;

// Not thread-safe, as Device.
class Chip {
 public:
  explicit Chip(std::unique_ptr<Device> device);
  ~Chip();
  Chip(Chip&&) noexcept;

  Device& device() { return *device_; }
  const DeviceInfo& info() const { return device_->info(); }
  bool simulated() const { return simulated_; }

  // Live Tensix tiles, row after row: tile index i is LogicalXY{i % columns(), i / columns()}.
  const std::vector<NocXY>& tiles() const { return tiles_; }
  u32 columns() const { return columns_; }
  // One NoC port a bank, 7 or 8 banks; the same memory answers at y + 1 and y + 2.
  const std::vector<NocXY>& dram_banks() const { return dram_banks_; }
  NocXY raw(NocXY place) const;  // where a live tile or a bank's port is on NoC 0's grid of 17 x 12, harvested or not
  u64 dram_bank_bytes() const;

  // Memory (L1, DRAM, ARC memory) takes any address and length; registers (0x80000000 and up, outside DRAM) take whole
  // aligned words. UsageError when the range does not lie in the tile. Writes to one tile arrive in order; fence()
  // orders DRAM before what follows.
  void write(NocXY tile, u64 addr, std::span<const std::byte> data);
  void read(NocXY tile, u64 addr, std::span<std::byte> out);
  void write32(NocXY tile, u64 addr, u32 value) { write(tile, addr, std::as_bytes(std::span(&value, 1))); }
  u32 read32(NocXY tile, u64 addr);
  void multicast(NocRect tiles, u64 addr, std::span<const std::byte> data);
  void multicast32(NocRect tiles, u64 addr, u32 value) { multicast(tiles, addr, std::as_bytes(std::span(&value, 1))); }
  void fence();
  // Device reads and writes so far, window set-up included.
  u64 host_accesses() const;

  // Soft reset: `held` is an or of isa::SoftResetBit; everything not in it runs.
  void set_soft_reset(NocXY tile, u32 held);
  void set_soft_reset(NocRect tiles, u32 held);
  // Where a TRISC or NCRISC starts after its next release; BRISC always starts at 0.
  void set_reset_pc(NocRect tiles, u32 trisc0, u32 trisc1, u32 trisc2, u32 ncrisc);

  // Calls `done` until it holds, letting a simulator run in between; DeviceError after `deadline`, with what `evidence`
  // returns.
  void wait_until(std::string_view name, std::chrono::milliseconds deadline, const std::function<bool()>& done,
                  const std::function<std::string()>& evidence = {});

  std::optional<u32> telemetry(TelemetryTag tag);  // empty: not offered by this firmware, or read as all ones
  std::vector<TelemetryEntry> telemetry_table();
  std::optional<u32> clock_mhz() { return telemetry(TelemetryTag::aiclk); }
  // DeviceError when the firmware does not answer before the deadline or refuses.
  ArcReply arc_message(u8 code, std::span<const u32> arguments = {},
                       std::chrono::milliseconds deadline = std::chrono::seconds(1));
  // Full clock for work, low clock to idle; a card takes some milliseconds, ttsim ignores it.
  void set_busy(bool busy);

 private:
  class Windows;
  class [[gnu::visibility("hidden")]] Arc;
  void find_tiles();
  std::unique_ptr<Device> device_;
  std::unique_ptr<Windows> windows_;
  std::unique_ptr<Arc> arc_;
  std::vector<NocXY> tiles_, dram_banks_;
  std::vector<u8> raw_columns_;  // by live column
  std::vector<u8> raw_banks_;    // by bank, counted down the left column and then the right one
  u32 columns_ = 0;
  bool simulated_ = false;
};

}  // namespace baretile
#pragma GCC visibility pop
