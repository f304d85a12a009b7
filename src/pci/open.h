// Finding devices, with the machine's system calls as an argument.
#pragma once
#include "pci/sys.h"

namespace baretile::pci {

// Where 'baretile chip ttsim' puts ttsim's library, whether it is there or not; empty without a cache folder.
std::string downloaded_ttsim();
std::vector<DeviceInfo> enumerate(const Sys& sys);
// `sys` must outlive the device.
std::unique_ptr<Device> open(const Sys& sys, const std::string& name);

}  // namespace baretile::pci
