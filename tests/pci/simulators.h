// Which simulator a test runs on: ttsim when TTSIM is set, the in-tree one when it was built.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

#include "baretile/device.h"

namespace baretile {

// Path of simulator "ttsim" or "sim"; empty when it is not here.
inline std::string simulator_path(const std::string& name) {
  if (const char* path = std::getenv(name == "ttsim" ? "TTSIM" : "BARETILE_SIM")) return path;
  const std::string built = BARETILE_BINARY_DIR "/lib/libbaretile_sim.so";
  return name == "sim" && std::filesystem::exists(built) ? built : "";
}

inline DeviceInfo simulator(const std::string& name) {
  return {name == "ttsim" ? DeviceKind::ttsim : DeviceKind::sim, name, simulator_path(name), name};
}

}  // namespace baretile

#define SKIP_WITHOUT_SIMULATOR(name) \
  if (simulator_path(name).empty())  \
  GTEST_SKIP() << (std::string(name) == "ttsim" ? "TTSIM is not set" : "libbaretile_sim.so was not built")
