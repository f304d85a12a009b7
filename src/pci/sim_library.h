// A simulator behind libttsim's C interface ($TTSIM or the in-tree library) as a Device.
#pragma once
#include "baretile/device.h"

namespace baretile::pci {

// Loads info.path; when this process has that library loaded already, a copy of it, so that each Device is a chip of
// its own. UsageError for a relative path, SystemError for a file that is missing or is no simulator.
std::unique_ptr<Device> open_sim_library(const DeviceInfo& info);

}  // namespace baretile::pci
