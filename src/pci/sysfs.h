// A card through the PCI resource files of sysfs, as root and without a kernel driver.
#pragma once
#include "pci/sys.h"

namespace baretile::pci {

// PCI names ("0000:01:00.0") of the Blackhole cards in this machine, whether or not they can be opened.
std::vector<std::string> find_cards(const Sys& sys);
// SystemError when a resource file is missing, too short or does not map. `sys` must outlive the device.
std::unique_ptr<Device> open_sysfs(const Sys& sys, const DeviceInfo& info);

}  // namespace baretile::pci
