#include "pci/sysfs.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "baretile/error.h"
#include "baretile/isa/pcie.h"
#include "pci/dma.h"

namespace baretile::pci {
namespace {

std::string folder(const std::string& pci_name) { return "/sys/bus/pci/devices/" + pci_name; }

class SysfsDevice final : public Device {
 public:
  SysfsDevice(const Sys& sys, const DeviceInfo& info);
  ~SysfsDevice() override;
  SysfsDevice(const SysfsDevice&) = delete;

  u32 config_read(u32 offset) override { return read_config(sys_, info_.path, offset); }
  u64 bar_bytes(int bar) const override { return bars_[bar].bytes; }
  void read(int bar, u64 offset, std::span<std::byte> out) override {
    copy_from_device(memory(bar, offset, out.size()), out);
  }
  void write(int bar, u64 offset, std::span<const std::byte> data) override {
    copy_to_device(memory(bar, offset, data.size()), data);
  }
  DmaBuffer dma(size_t bytes) override;
  void progress(u32) override {}
  const DeviceInfo& info() const override { return info_; }

 private:
  struct Bar {
    std::byte* memory = nullptr;
    u64 bytes = 0;
  };
  void enable();
  Bar map(int bar, const std::string& file);
  volatile std::byte* memory(int bar, u64 offset, size_t bytes) const {
    if (offset + bytes > bars_[bar].bytes)
      throw UsageError(
          fmt::format("{} bytes at BAR{} + {:#x} do not lie in its {} bytes", bytes, bar, offset, bars_[bar].bytes));
    return bars_[bar].memory + offset;
  }

  const Sys& sys_;
  DeviceInfo info_;
  Bar bars_[5];
  std::vector<std::unique_ptr<HostPages>> pages_;
};

SysfsDevice::SysfsDevice(const Sys& sys, const DeviceInfo& info) : sys_(sys), info_(info) {
  enable();
  // Windows stay uncached in BAR 0, where registers are; BAR 4 holds windows on DRAM only.
  bars_[0] = map(0, "resource0");
  bars_[2] = map(2, "resource2");
  bars_[4] = map(4, "resource4_wc");
  if (bars_[0].bytes < isa::kBar0Bytes)
    throw SystemError(fmt::format("BAR 0 of {} has {} bytes instead of {}; reset the card or reboot", info.path,
                                  bars_[0].bytes, isa::kBar0Bytes),
                      folder(info.path));
}

SysfsDevice::~SysfsDevice() {
  for (const Bar& bar : bars_)
    if (bar.memory) sys_.munmap(bar.memory, bar.bytes);
}

// Memory space and bus mastering, bits 1 and 2 of the command register, are off until a driver asks for them.
void SysfsDevice::enable() {
  if (!read_line(sys_, folder(info_.path) + "/driver/module/initstate").empty())
    throw SystemError(
        fmt::format("card {} belongs to a kernel driver; open it as 'kmd', or unbind the driver", info_.path),
        folder(info_.path));
  const File config(sys_, folder(info_.path) + "/config", O_RDWR, "run as root");
  u16 command = 0;
  if (sys_.pread(config.fd(), &command, sizeof command, 4) != sizeof command)
    throw_errno("read", config.path(), "run as root");
  command |= 6;
  if (sys_.pwrite(config.fd(), &command, sizeof command, 4) != sizeof command)
    throw_errno("enable the card in", config.path(), "run as root");
}

// A BAR the machine did not assign has no file or an empty one; its length is 0 then.
SysfsDevice::Bar SysfsDevice::map(int bar, const std::string& file) {
  const std::string path = folder(info_.path) + "/" + file;
  struct stat st {};
  if (::stat((sys_.root + path).c_str(), &st) != 0 || st.st_size == 0) return {};
  const File resource(sys_, path, O_RDWR, "run as root");
  void* p = sys_.mmap(size_t(st.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, resource.fd(), 0);
  if (p == MAP_FAILED)
    throw_errno(fmt::format("map BAR {} from", bar), resource.path(), "boot without kernel lockdown (secure boot)");
  return {static_cast<std::byte*>(p), u64(st.st_size)};
}

// Straight to the host: the PCIe tile's region 0, where the offset is the bus address. src:
// BlackholeA0/PCIExpressTile/README.md.
DmaBuffer SysfsDevice::dma(size_t bytes) {
  const std::string iommu = read_line(sys_, folder(info_.path) + "/iommu_group/type");
  if (!iommu.empty() && iommu != "identity")
    throw Unsupported(fmt::format(
        "card {} sits behind an IOMMU, so host memory needs tt-kmd; load it, or boot with iommu=pt", info_.path));
  pages_.push_back(std::make_unique<HostPages>(sys_, bytes));
  return {pages_.back()->bytes().first(bytes), pages_.back()->physical_address()};
}

}  // namespace

std::vector<std::string> find_cards(const Sys& sys) {
  std::vector<std::string> cards;
  for (const std::string& name : list_folder(sys, "/sys/bus/pci/devices"))
    if (read_line(sys, folder(name) + "/vendor") == fmt::format("{:#06x}", isa::kVendorTenstorrent) &&
        read_line(sys, folder(name) + "/device") == fmt::format("{:#06x}", isa::kDeviceBlackhole))
      cards.push_back(name);
  return cards;
}

std::unique_ptr<Device> open_sysfs(const Sys& sys, const DeviceInfo& info) {
  return std::make_unique<SysfsDevice>(sys, info);
}

}  // namespace baretile::pci
