// A Chip on a card that is only a stand-in for tt-kmd, or on a simulator.
#pragma once
#include "baretile/chip.h"
#include "pci/kmd_stand_in.h"
#include "pci/sim_library.h"
#include "pci/simulators.h"
#include "support/message.h"

namespace baretile {

inline const std::map<u32, u32> kFullTelemetry{{1, 0x400},       {2, 1},       {14, 800},
                                               {28, 0x12050000}, {34, 0x3FFF}, {36, 0xFF}};

// The card must outlive the chip.
struct Card : KmdStandIn {
  explicit Card(const std::map<u32, u32>& telemetry = kFullTelemetry, u64 bar4 = 32ull << 30) {
    bar4_bytes = bar4;
    poke_telemetry(*this, telemetry);
  }
  Chip chip() {
    return Chip(pci::open_kmd(system, {DeviceKind::kmd, "kmd", "/dev/tenstorrent/0", "card through tt-kmd"}));
  }
  pci::Sys system = sys();
};

inline Chip simulated_chip(const std::string& name) { return Chip(pci::open_sim_library(simulator(name))); }

struct OnSimulator : testing::TestWithParam<const char*> {
  void SetUp() override { SKIP_WITHOUT_SIMULATOR(GetParam()); }
  Chip chip() const { return simulated_chip(GetParam()); }
};

inline const auto kSimulators = testing::Values("ttsim", "sim");
inline std::string simulator_name(const testing::TestParamInfo<const char*>& info) { return info.param; }

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace baretile
