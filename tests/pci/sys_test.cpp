#include "pci/sys.h"

#include <numeric>

#include "baretile/error.h"
#include "pci/machine_stand_in.h"

namespace baretile {
namespace {

TEST(DeviceCopies, HoldForEveryAlignmentAndLength) {
  std::vector<std::byte> data(40);
  for (size_t i = 0; i < data.size(); i++) data[i] = std::byte(i + 1);
  for (size_t at = 0; at < 9; at++)
    for (size_t bytes = 0; bytes < 20; bytes++) {
      alignas(8) std::byte device[40] = {};
      pci::copy_to_device(device + at, std::span(data).first(bytes));
      for (size_t i = 0; i < sizeof device; i++)
        ASSERT_EQ(device[i], i >= at && i < at + bytes ? data[i - at] : std::byte{0}) << at << ' ' << bytes << ' ' << i;
      std::vector<std::byte> back(bytes);
      pci::copy_from_device(device + at, back);
      ASSERT_TRUE(std::equal(back.begin(), back.end(), data.begin()));
    }
}

TEST(Sys, ReadsTheFirstLineOfAFileUnderItsRoot) {
  const MachineStandIn machine;
  machine.write("/a/b", "one\ntwo\n");
  EXPECT_EQ(pci::read_line(machine.sys(), "/a/b"), "one");
  EXPECT_EQ(pci::read_line(machine.sys(), "/a/none"), "");
  EXPECT_EQ(pci::list_folder(machine.sys(), "/a"), std::vector<std::string>{"b"});
  EXPECT_TRUE(pci::list_folder(machine.sys(), "/none").empty());
}

TEST(Sys, ConfigurationBeyondTheFileIsAnError) {
  const MachineStandIn machine;
  machine.add_card();
  const pci::Sys sys = machine.sys();
  EXPECT_EQ(pci::read_config(sys, MachineStandIn::kCard, 0), 0xB1401E52u);
  EXPECT_THROW(pci::read_config(sys, MachineStandIn::kCard, 0x40), SystemError);
}

}  // namespace
}  // namespace baretile
