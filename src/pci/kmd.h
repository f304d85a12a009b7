// A card through tt-kmd: windows are the driver's to give, so writes to the window registers become its ioctls.
#pragma once
#include "pci/sys.h"

namespace baretile::pci {

// SystemError when the file does not open or the driver refuses, Unsupported for a chip that is not a Blackhole. `sys`
// must outlive the device.
std::unique_ptr<Device> open_kmd(const Sys& sys, const DeviceInfo& info);

}  // namespace baretile::pci
