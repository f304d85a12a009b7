#include "pci/open.h"

#include <map>

#include "baretile/error.h"
#include "pci/machine_stand_in.h"

namespace baretile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const std::vector<DeviceInfo>& devices) {
  std::vector<std::string> all;
  for (const DeviceInfo& d : devices)
    if (d.kind != DeviceKind::sim) all.push_back(d.name);  // whose presence depends on what was built
  return all;
}

struct Open : testing::Test {
  MachineStandIn machine;
  std::map<std::string, std::string> environment;
  void SetUp() override {
    for (const char* name : {"TTSIM", "BARETILE_DEVICE", "BARETILE_SIM"}) {
      if (const char* value = std::getenv(name)) environment[name] = value;
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : {"TTSIM", "BARETILE_DEVICE", "BARETILE_SIM"}) unsetenv(name);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  }
};

TEST_F(Open, TtsimComesBeforeCards) {
  setenv("TTSIM", "/some/libttsim.so", 1);
  machine.write("/dev/tenstorrent/0", "");
  const auto found = pci::enumerate(machine.sys());
  EXPECT_THAT(names(found), ElementsAre("ttsim", "kmd"));
  EXPECT_THAT(found[0].description, HasSubstr("because TTSIM is set to /some/libttsim.so"));
}

TEST_F(Open, CardsAreCountedInTheOrderOfTheirNumbers) {
  for (const char* n : {"10", "2", "by-id"}) machine.write(std::string("/dev/tenstorrent/") + n, "");
  const auto found = pci::enumerate(machine.sys());
  EXPECT_THAT(names(found), ElementsAre("kmd", "kmd:1"));
  EXPECT_EQ(found[0].path, "/dev/tenstorrent/2");
  EXPECT_EQ(found[1].path, "/dev/tenstorrent/10");
}

TEST_F(Open, SysfsIsForRootAndForMachinesWithoutTheDriver) {
  machine.add_card();
  EXPECT_THAT(names(pci::enumerate(machine.sys(true))), ElementsAre("sysfs"));
  EXPECT_THAT(names(pci::enumerate(machine.sys(false))), ElementsAre());
  machine.write("/dev/tenstorrent/0", "");
  EXPECT_THAT(names(pci::enumerate(machine.sys(true))), ElementsAre("kmd"));
}

TEST_F(Open, TheSimulatorOfBaretileComesLast) {
  setenv("BARETILE_SIM", "/some/libbaretile_sim.so", 1);
  machine.add_card();
  const auto found = pci::enumerate(machine.sys());
  EXPECT_EQ(found.back().name, "sim");
  EXPECT_EQ(found.back().path, "/some/libbaretile_sim.so");
}

TEST_F(Open, AnUnknownNameListsTheKnownOnes) {
  machine.add_card();
  const pci::Sys sys = machine.sys();
  try {
    pci::open(sys, "kmd:3");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'kmd:3' is not here; there is sysfs"));
  }
}

TEST_F(Open, TheArgumentWinsOverTheEnvironmentAndThatOverTheOrder) {
  machine.add_card();
  setenv("TTSIM", "/some/libttsim.so", 1);
  const pci::Sys sys = machine.sys();
  setenv("BARETILE_DEVICE", "sysfs", 1);
  EXPECT_EQ(pci::open(sys, "")->info().name, "sysfs");
  setenv("BARETILE_DEVICE", "kmd", 1);
  EXPECT_EQ(pci::open(sys, "sysfs")->info().name, "sysfs");
  EXPECT_THROW(pci::open(sys, ""), UsageError);
}

TEST_F(Open, ABadTtsimPathIsAnErrorEvenWithACardBesideIt) {
  machine.add_card();
  setenv("TTSIM", "/nowhere/libttsim.so", 1);
  const pci::Sys sys = machine.sys();
  EXPECT_THROW(pci::open(sys, ""), SystemError);
}

TEST_F(Open, TtsimOpensByItsPath) {
  if (!environment.contains("TTSIM")) GTEST_SKIP() << "TTSIM is not set";
  setenv("TTSIM", environment["TTSIM"].c_str(), 1);
  EXPECT_EQ(open_device("ttsim")->config_read(0), 0xB1401E52u);
}

}  // namespace
}  // namespace baretile
