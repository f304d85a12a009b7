// A folder that looks like the parts of /dev and /sys a card shows.
#pragma once
#include <filesystem>
#include <fstream>

#include "pci/sys.h"
#include "support/temporary_folder.h"

namespace baretile {

class MachineStandIn {
 public:
  const TemporaryFolder folder;
  const std::string root = folder.path();
  static constexpr const char* kCard = "0000:03:00.0";

  pci::Sys sys(bool is_root = true) const {
    pci::Sys s = pci::real_sys();
    s.root = root;
    s.is_root = is_root;
    return s;
  }
  std::string card(const std::string& file) const { return std::string("/sys/bus/pci/devices/") + kCard + "/" + file; }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path, std::ios::binary) << text;
  }
  void file_of(const std::string& path, u64 bytes) const {  // sparse
    write(path, "");
    std::filesystem::resize_file(root + path, bytes);
  }
  void add_card(u64 bar4_bytes = 32ull << 30) const {
    write(card("vendor"), "0x1e52\n");
    write(card("device"), "0xb140\n");
    std::string config("\x52\x1e\x40\xb1\x01\x00\x10\x00", 8);
    config.resize(64);
    write(card("config"), config);
    file_of(card("resource0"), 512u << 20);
    file_of(card("resource2"), 1 << 20);
    if (bar4_bytes) file_of(card("resource4_wc"), bar4_bytes);
  }
};

}  // namespace baretile
