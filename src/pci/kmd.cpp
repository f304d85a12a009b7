#include "pci/kmd.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>

#include "baretile/error.h"
#include "baretile/isa/pcie.h"
#include "pci/dma.h"

namespace baretile::pci {
namespace {

// src: tt-kmd ioctl.h (interface since 1.34). Requests are _IO(0xFA, number); sizes are checked below.
constexpr unsigned long request(u32 number) { return 0xFA00 | number; }
constexpr unsigned long kGetDeviceInfo = request(0), kQueryMappings = request(2), kPinPages = request(7),
                        kUnpinPages = request(10), kAllocateTlb = request(11), kFreeTlb = request(12),
                        kConfigureTlb = request(13);
constexpr u32 kPinForNoc = 2;

struct GetDeviceInfo {
  u32 in_output_bytes, output_bytes;
  u16 vendor_id, device_id, subsystem_vendor_id, subsystem_id, bus_dev_fn, max_dma_buf_log2, pci_domain, padding;
};
struct Mapping {
  u32 id, reserved;
  u64 base, bytes;
};
struct QueryMappings {
  u32 count, reserved;
  Mapping mappings[8];
};
struct PinPages {
  u32 output_bytes, flags;
  u64 virtual_address, bytes, physical_address, noc_address;
};
struct UnpinPages {
  u64 virtual_address, bytes, reserved;
};
struct AllocateTlb {
  u64 bytes, reserved;
  u32 id, reserved0;
  u64 offset_uncached, offset_combined, reserved1;
};
struct FreeTlb {
  u32 id;
};
struct ConfigureTlb {
  u32 id;
  u64 addr;
  u16 x_end, y_end, x_start, y_start;
  u8 noc, mcast, ordering, linked, static_vc, reserved0[3];
  u32 reserved1[2];
  u64 out_reserved;
};
static_assert(sizeof(GetDeviceInfo) == 24 && sizeof(Mapping) == 24 && sizeof(PinPages) == 40 &&
              sizeof(AllocateTlb) == 48);
static_assert(sizeof(ConfigureTlb) == 48 && offsetof(ConfigureTlb, noc) == 24);

constexpr u32 kResource0 = 1, kResource1 = 3, kResource2 = 5;  // uncached mapping ids of BAR 0, 2 and 4

class KmdDevice final : public Device {
 public:
  KmdDevice(const Sys& sys, const DeviceInfo& info);
  ~KmdDevice() override;
  KmdDevice(const KmdDevice&) = delete;

  u32 config_read(u32 offset) override { return read_config(sys_, pci_name_, offset); }
  u64 bar_bytes(int bar) const override { return bar_bytes_[bar]; }
  void read(int bar, u64 offset, std::span<std::byte> out) override {
    copy_from_device(window_memory(bar, offset, out.size()), out);
  }
  void write(int bar, u64 offset, std::span<const std::byte> data) override {
    if (bar == 0 && offset - isa::kWindowRegisters < kRegisterBytes)
      return write_register(u32(offset - isa::kWindowRegisters), data);
    copy_to_device(window_memory(bar, offset, data.size()), data);
  }
  DmaBuffer dma(size_t bytes) override;
  void progress(u32) override {}
  const DeviceInfo& info() const override { return info_; }

 private:
  static constexpr u32 kWindows = isa::kLargeWindow0 + isa::kLargeWindows,
                       kRegisterBytes = kWindows * isa::kWindowRegisterBytes;
  struct Window {
    bool allocated = false;
    u32 id = 0;
    u64 offset_uncached = 0, offset_combined = 0;
    std::byte *uncached = nullptr, *combined = nullptr, *memory = nullptr;  // memory: the one of the two in use
    isa::WindowWords words;
  };

  static u64 window_bytes(u32 index) {
    return 1ull << (index < isa::kSmallWindows ? isa::kSmallWindowShift : isa::kLargeWindowShift);
  }
  volatile std::byte* window_memory(int bar, u64 offset, size_t bytes) const;
  void write_register(u32 offset, std::span<const std::byte> data);
  void configure(u32 index);
  void allocate(Window& window, u64 bytes);
  std::byte* map(u64 offset, u64 bytes);

  const Sys& sys_;
  DeviceInfo info_;
  File file_;
  std::string pci_name_;
  u64 bar_bytes_[5] = {};
  std::array<Window, kWindows> windows_;
  std::vector<std::unique_ptr<HostPages>> pinned_;
};

KmdDevice::KmdDevice(const Sys& sys, const DeviceInfo& info)
    : sys_(sys), info_(info), file_(sys, info.path, O_RDWR, "add yourself to the group that owns it, or run as root") {
  GetDeviceInfo device{};
  device.in_output_bytes = sizeof device - sizeof device.in_output_bytes;
  if (sys.ioctl(file_.fd(), kGetDeviceInfo, &device) != 0)
    throw_errno("identify", file_.path(), "check that it belongs to tt-kmd");
  if (device.vendor_id != isa::kVendorTenstorrent || device.device_id != isa::kDeviceBlackhole)
    throw Unsupported(
        fmt::format("{} is PCI device {:04x}:{:04x}, not a Blackhole ({:04x}:{:04x}); name another device",
                    file_.path(), device.vendor_id, device.device_id, isa::kVendorTenstorrent, isa::kDeviceBlackhole));
  pci_name_ = fmt::format("{:04x}:{:02x}:{:02x}.{}", device.pci_domain, device.bus_dev_fn >> 8,
                          (device.bus_dev_fn >> 3) & 31, device.bus_dev_fn & 7);
  QueryMappings query{.count = 8, .reserved = 0, .mappings = {}};
  if (sys.ioctl(file_.fd(), kQueryMappings, &query) != 0)
    throw_errno("list the BARs of", file_.path(), "update tt-kmd");
  for (const Mapping& m : query.mappings)
    if (m.id == kResource0 || m.id == kResource1 || m.id == kResource2) bar_bytes_[m.id - 1] = m.bytes;
}

KmdDevice::~KmdDevice() {
  for (u32 i = 0; i < kWindows; i++) {
    Window& w = windows_[i];
    if (!w.allocated) continue;
    if (w.uncached) sys_.munmap(w.uncached, window_bytes(i));
    if (w.combined) sys_.munmap(w.combined, window_bytes(i));
    FreeTlb request{w.id};
    sys_.ioctl(file_.fd(), kFreeTlb, &request);
  }
  for (const auto& pages : pinned_) {
    UnpinPages request{reinterpret_cast<u64>(pages->bytes().data()), pages->bytes().size(), 0};
    sys_.ioctl(file_.fd(), kUnpinPages, &request);
  }
}

volatile std::byte* KmdDevice::window_memory(int bar, u64 offset, size_t bytes) const {
  const u64 size = window_bytes(bar == 4 ? isa::kLargeWindow0 : 0),
            number = offset / size + (bar == 4 ? isa::kLargeWindow0 : 0);
  const bool exists = bar == 4 ? number < kWindows : bar == 0 && number < isa::kSmallWindows;
  if (!exists || !windows_[number].memory || offset % size + bytes > size)
    throw UsageError(
        fmt::format("{} bytes at BAR{} + {:#x} lie in no configured window; tt-kmd gives access to windows only", bytes,
                    bar, offset));
  return windows_[number].memory + offset % size;
}

void KmdDevice::write_register(u32 offset, std::span<const std::byte> data) {
  const u32 index = offset / isa::kWindowRegisterBytes, word = offset % isa::kWindowRegisterBytes / 4;
  if (data.size() != 4 || offset % 4 != 0 || index == isa::kSmallWindows)
    throw UsageError(fmt::format(
        "{} bytes at window register {:#x}; they take aligned words, and window 201 is tt-kmd's", data.size(), offset));
  std::copy(data.begin(), data.end(), reinterpret_cast<std::byte*>(&windows_[index].words.word[word]));
  if (word == 2) configure(index);
}

void KmdDevice::configure(u32 index) {
  Window& w = windows_[index];
  const bool large = index >= isa::kLargeWindow0;
  if (!w.allocated) allocate(w, window_bytes(index));
  const isa::WindowTarget t = large ? isa::decode_large_window(w.words) : isa::decode_small_window(w.words);
  ConfigureTlb c{};
  c.id = w.id;
  c.addr = t.addr;
  c.x_end = u16(t.x), c.y_end = u16(t.y), c.x_start = u16(t.first_x), c.y_start = u16(t.first_y);
  c.mcast = t.multicast, c.ordering = u8(t.ordering);
  if (sys_.ioctl(file_.fd(), kConfigureTlb, &c) != 0)
    throw_errno(fmt::format("point a window at tile {}-{}, address {:#x} through", t.x, t.y, t.addr), file_.path(),
                "check that the tile exists on this card");
  // Memory may be write-combined; registers sit far above L1 and may not.
  const bool combine = large || t.addr == 0;
  std::byte*& memory = combine ? w.combined : w.uncached;
  if (!memory) memory = map(combine ? w.offset_combined : w.offset_uncached, window_bytes(index));
  w.memory = memory;
}

void KmdDevice::allocate(Window& w, u64 bytes) {
  AllocateTlb a{};
  a.bytes = bytes;
  if (sys_.ioctl(file_.fd(), kAllocateTlb, &a) != 0)
    throw_errno(fmt::format("get a window of {} bytes from", bytes), file_.path(),
                errno == ENOTTY ? "update tt-kmd to 1.34 or later" : "end other programs that use this card");
  w.allocated = true;
  w.id = a.id, w.offset_uncached = a.offset_uncached, w.offset_combined = a.offset_combined;
}

std::byte* KmdDevice::map(u64 offset, u64 bytes) {
  void* p = sys_.mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), off_t(offset));
  if (p == MAP_FAILED)
    throw_errno(fmt::format("map {} bytes at {:#x} of", bytes, offset), file_.path(), "see the kernel log");
  return static_cast<std::byte*>(p);
}

DmaBuffer KmdDevice::dma(size_t bytes) {
  auto pages = std::make_unique<HostPages>(sys_, bytes);
  PinPages pin{};
  pin.output_bytes = 16, pin.flags = kPinForNoc;
  pin.virtual_address = reinterpret_cast<u64>(pages->bytes().data()), pin.bytes = pages->bytes().size();
  if (sys_.ioctl(file_.fd(), kPinPages, &pin) != 0)
    throw_errno(fmt::format("pin {} bytes for", pin.bytes), file_.path(),
                "enable the IOMMU, or reserve huge pages with 'sysctl vm.nr_hugepages=8'");
  pinned_.push_back(std::move(pages));
  return {pinned_.back()->bytes().first(bytes), pin.noc_address};
}

}  // namespace

std::unique_ptr<Device> open_kmd(const Sys& sys, const DeviceInfo& info) {
  return std::make_unique<KmdDevice>(sys, info);
}

}  // namespace baretile::pci
