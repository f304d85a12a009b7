#include "cli/chip_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "baretile/chip.h"
#include "baretile/error.h"
#include "compiler/build/clang.h"
#include "pci/sysfs.h"

namespace baretile::cli {
namespace {

struct Finding {
  bool good;
  std::string what, detail, fix;
};

// A card that PCI shows but nobody may open is the most common surprise, so it is looked for by itself.
Finding check_driver() {
  const pci::Sys sys = pci::real_sys();
  const std::vector<std::string> cards = pci::find_cards(sys), files = pci::list_folder(sys, "/dev/tenstorrent");
  if (cards.empty()) return {true, "card", "none in this machine", {}};
  if (files.empty())
    return {sys.is_root, "card", fmt::format("{} on PCI, but tt-kmd is not loaded", cards[0]),
            "install tt-kmd (github.com/tenstorrent/tt-kmd), or run baretile as root"};
  const std::string path = "/dev/tenstorrent/" + files[0];
  if (access(path.c_str(), R_OK | W_OK) != 0)
    return {false, "card", fmt::format("{} may not be opened by you", path),
            fmt::format("sudo chmod a+rw {}, or a udev rule that does it at boot", path)};
  return {true, "card", fmt::format("{} on PCI, {} may be opened", cards[0], path), {}};
}

Finding check_device(const std::string& name) {
  try {
    Chip chip(open_device(name));
    return {true,
            "device",
            fmt::format("{}: {} tiles, {} DRAM banks", chip.info().description, chip.tiles().size(),
                        chip.dram_banks().size()),
            {}};
  } catch (const Error& error) {
    return {false, "device", error.what(),
            "set TTSIM to ttsim's libttsim.so, install a card, or keep libbaretile_sim.so beside libbaretile.so"};
  }
}

// Asks for the RISC-V target by compiling an empty file, as some builds of clang lack it.
std::vector<Finding> check_compiler() {
  constexpr const char* kInstall = "install clang and lld, 14 or later, both of one version: apt-get install clang lld";
  const char* path = std::getenv("PATH");
  compiler::Toolchain tools;
  try {
    tools = compiler::find_toolchain(compiler::KernelCache(compiler::cache_root()), path ? path : "");
  } catch (const SystemError& error) {
    return {{false, "clang", error.what(), kInstall}};
  }
  const bool found = !tools.clang.empty();
  const bool target = found && compiler::run_process({tools.clang, "--target=riscv32-unknown-elf", "-march=rv32im",
                                                      "-mabi=ilp32", "-xc", "-c", "/dev/null", "-o", "/dev/null"},
                                                     std::chrono::seconds(30))
                                       .exit_code == 0;
  const std::string clang =
      found ? fmt::format("{} ({}){}", tools.clang, tools.version, target ? "" : ", but it has no RISC-V target")
            : "not in PATH";
  return {{target, "clang", clang, kInstall},
          {!tools.lld.empty(), "lld", tools.lld.empty() ? "ld.lld is not in PATH" : tools.lld, kInstall}};
}

Finding check_cache() {
  const std::string folder = compiler::cache_root();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const bool good = !error && access(folder.c_str(), W_OK) == 0;
  return {good, "cache", folder + (good ? "" : " cannot be written"),
          "set BARETILE_CACHE_DIR to a folder that you may write"};
}

}  // namespace

int check_machine(const std::string& device) {
  for (const DeviceInfo& d : enumerate_devices()) fmt::print("      device {:<8} {}\n", d.name, d.description);
  std::vector<Finding> findings{check_driver(), check_device(device)};
  for (Finding& f : check_compiler()) findings.push_back(std::move(f));
  findings.push_back(check_cache());
  bool all_good = true;
  for (const Finding& f : findings) {
    fmt::print("{:<5} {:<6} {}\n", f.good ? "ok" : "NO", f.what, f.detail);
    if (!f.good) fmt::print("             -> {}\n", f.fix);
    all_good = all_good && f.good;
  }
  return all_good ? 0 : 1;
}

}  // namespace baretile::cli
