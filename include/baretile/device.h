// The one seam for hardware: what a card, ttsim and the in-tree simulator each implement.
//   for (const DeviceInfo& d : enumerate_devices()) std::cout << d.name << ": " << d.description << '\n';
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "baretile/bits.h"

#pragma GCC visibility push(default)
namespace baretile {

enum class DeviceKind { ttsim, kmd, sysfs, sim };

// One device that could be opened: a value, cheap to copy and compare.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::sim;
  std::string name;         // what --device and BARETILE_DEVICE take: "ttsim", "kmd", "kmd:1", "sysfs", "sim"
  std::string path;         // library or device file
  std::string description;  // one line for people, with the reason it is offered
};

// Pinned host memory that tiles reach through the PCIe tile at NoC address `noc_addr`.
struct DmaBuffer {
  std::span<std::byte> bytes;
  u64 noc_addr = 0;
};

// Not thread-safe: one owner thread makes all calls.
class Device {
 public:
  virtual ~Device() = default;
  virtual u32 config_read(u32 offset) = 0;
  // bar is 0, 2 or 4; the range must lie inside it.
  virtual u64 bar_bytes(int bar) const = 0;
  virtual void read(int bar, u64 offset, std::span<std::byte> out) = 0;
  virtual void write(int bar, u64 offset, std::span<const std::byte> data) = 0;
  virtual DmaBuffer dma(size_t bytes) = 0;
  // Lets `cycles` pass on a simulator; nothing on a card, where time passes by itself.
  virtual void progress(u32 cycles) = 0;
  virtual const DeviceInfo& info() const = 0;
};

// What was found on this machine, best first: $TTSIM, a card through tt-kmd, a card through sysfs (root), the in-tree
// simulator, the ttsim that 'baretile chip ttsim' got.
std::vector<DeviceInfo> enumerate_devices();

// `name` as in DeviceInfo::name; empty takes $BARETILE_DEVICE, then the first that enumerate_devices() gives.
// Throws UsageError for an unknown name, SystemError when the device is there but cannot be opened.
std::unique_ptr<Device> open_device(const std::string& name = {});

// Where compiled kernels and downloads are kept: $BARETILE_CACHE_DIR, else $XDG_CACHE_HOME/baretile, else
// ~/.cache/baretile; empty when none of these is set.
std::string cache_folder();

}  // namespace baretile
#pragma GCC visibility pop
