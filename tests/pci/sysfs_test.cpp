#include "pci/sysfs.h"

#include "baretile/error.h"
#include "pci/machine_stand_in.h"

namespace baretile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const DeviceInfo kCardInfo{DeviceKind::sysfs, "sysfs", MachineStandIn::kCard, "card through sysfs"};

u32 word_of(const std::string& path, u64 offset) {
  std::ifstream file(path, std::ios::binary);
  u32 word = 0;
  file.seekg(long(offset));
  file.read(reinterpret_cast<char*>(&word), 4);
  return word;
}

TEST(Sysfs, FindsBlackholeCardsAndNoOthers) {
  const MachineStandIn machine;
  EXPECT_THAT(pci::find_cards(machine.sys()), IsEmpty());
  machine.add_card();
  machine.write("/sys/bus/pci/devices/0000:00:01.0/vendor", "0x8086\n");
  machine.write("/sys/bus/pci/devices/0000:00:01.0/device", "0xb140\n");
  machine.write("/sys/bus/pci/devices/0000:04:00.0/vendor", "0x1e52\n");
  machine.write("/sys/bus/pci/devices/0000:04:00.0/device", "0x401e\n");
  EXPECT_THAT(pci::find_cards(machine.sys()), ElementsAre(MachineStandIn::kCard));
}

TEST(Sysfs, OpeningEnablesMemoryAndBusMasteringAndKeepsOtherBits) {
  const MachineStandIn machine;
  machine.add_card();
  const pci::Sys sys = machine.sys();
  const auto device = pci::open_sysfs(sys, kCardInfo);
  EXPECT_EQ(word_of(machine.root + machine.card("config"), 4), 0x00100007u);
  EXPECT_EQ(device->config_read(0), 0xB1401E52u);
}

TEST(Sysfs, BarsAreAsLongAsTheirFiles) {
  for (const u64 bytes : {u64{0}, u64{1} << 20, u64{32} << 30}) {
    const MachineStandIn machine;
    machine.add_card(bytes);
    const pci::Sys sys = machine.sys();
    const auto device = pci::open_sysfs(sys, kCardInfo);
    EXPECT_EQ(device->bar_bytes(0), 512u << 20);
    EXPECT_EQ(device->bar_bytes(4), bytes);
    std::byte b;
    EXPECT_THROW(device->read(4, bytes, {&b, 1}), UsageError);
  }
}

TEST(Sysfs, WritesLandInTheResourceFiles) {
  const MachineStandIn machine;
  machine.add_card();
  const pci::Sys sys = machine.sys();
  const auto device = pci::open_sysfs(sys, kCardInfo);
  const u32 value = 0xC0FFEE;
  device->write(0, 0x1FC00000, std::as_bytes(std::span(&value, 1)));
  device->write(4, (31ull << 30) + 3, std::as_bytes(std::span(&value, 1)));
  EXPECT_EQ(word_of(machine.root + machine.card("resource0"), 0x1FC00000), 0xC0FFEEu);
  EXPECT_EQ(word_of(machine.root + machine.card("resource4_wc"), (31ull << 30) + 3), 0xC0FFEEu);
}

TEST(Sysfs, AShortBar0IsAnError) {
  const MachineStandIn machine;
  machine.add_card();
  machine.file_of(machine.card("resource0"), 1 << 20);
  const pci::Sys sys = machine.sys();
  EXPECT_THROW(pci::open_sysfs(sys, kCardInfo), SystemError);
}

TEST(Sysfs, ACardThatAKernelDriverHoldsIsLeftAlone) {
  const MachineStandIn machine;
  machine.add_card();
  machine.write(machine.card("driver/module/initstate"), "live\n");
  const pci::Sys sys = machine.sys();
  EXPECT_THROW(pci::open_sysfs(sys, kCardInfo), SystemError);
  EXPECT_EQ(word_of(machine.root + machine.card("config"), 4), 0x00100001u);
}

TEST(Sysfs, BehindAnIommuHostMemoryNeedsTheDriver) {
  const MachineStandIn machine;
  machine.add_card();
  machine.write(machine.card("iommu_group/type"), "DMA-FQ\n");
  const pci::Sys sys = machine.sys();
  const auto device = pci::open_sysfs(sys, kCardInfo);
  EXPECT_THROW(device->dma(4096), Unsupported);
}

}  // namespace
}  // namespace baretile
