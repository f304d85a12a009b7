#include "sim/capi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;

int last_kind = -1;
std::string last_message;

class Capi : public testing::Test {
 protected:
  void SetUp() override {
    catch_faults();
    last_kind = -1;
    last_message.clear();
  }
  void TearDown() override {
    catch_faults();
    libttsim_exit();  // one fault more if nothing runs
    baretile_sim_on_fault(nullptr);
  }
  static void catch_faults() {
    baretile_sim_on_fault([](int kind, const char* message) { last_kind = kind, last_message = message; });
  }
};

TEST_F(Capi, CallsOutOfOrderAreConfigurationFaults) {
  uint32_t value = 0;
  libttsim_pci_mem_rd_bytes(0x100000000, &value, 4);
  EXPECT_THAT(last_message, HasSubstr("call libttsim_init first"));
  EXPECT_EQ(last_kind, int(FaultKind::configuration));
  libttsim_clock(10);  // silently accepted, as on ttsim
  libttsim_init();
  libttsim_set_pci_dma_mem_callbacks(nullptr, nullptr);
  EXPECT_THAT(last_message, HasSubstr("call it before libttsim_init"));
}

TEST_F(Capi, ASecondInitIsAFaultButOneAfterExitIsNot) {
  libttsim_init();
  libttsim_exit();
  libttsim_init();
  EXPECT_EQ(last_message, "");
  EXPECT_EQ(libttsim_pci_config_rd32(0, 0), 0xB1401E52u);
  libttsim_init();
  EXPECT_THAT(last_message, HasSubstr("already running"));
}

TEST_F(Capi, AfterAFaultTheChipAnswersNoMore) {
  libttsim_init();
  uint32_t value = 0;
  libttsim_pci_mem_rd_bytes(0x5000, &value, 4);
  EXPECT_EQ(last_kind, int(FaultKind::not_modelled));
  EXPECT_THAT(last_message, HasSubstr("[host access]"));
  libttsim_clock(1);
  EXPECT_THAT(last_message, HasSubstr("the chip has faulted; call libttsim_exit"));
}

TEST_F(Capi, TileAccessIsRefusedAsOnTtsim) {
  libttsim_init();
  uint32_t value = 0;
  libttsim_tile_rd_bytes(1, 2, 0, &value, 4);
  EXPECT_THAT(last_message, HasSubstr("on Blackhole use libttsim_pci_mem_rd_bytes"));
}

using CapiDeathTest = Capi;

TEST_F(CapiDeathTest, WithoutACallbackAFaultEndsTheProcessLikeTtsim) {
  baretile_sim_on_fault(nullptr);
  EXPECT_EXIT(
      {
        dup2(2, 1);  // the death test looks at stderr
        libttsim_init();
        libttsim_pci_config_rd32(0, 0x40);
      },
      testing::ExitedWithCode(1), "NotModelled: PCI configuration offset 0x40");
}

}  // namespace
}  // namespace baretile::sim
