#include "pci/open.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>

#include "baretile/error.h"
#include "pci/kmd.h"
#include "pci/sim_library.h"
#include "pci/sysfs.h"

namespace baretile::pci {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string numbered(const char* kind, size_t index) { return index == 0 ? kind : fmt::format("{}:{}", kind, index); }

// The in-tree simulator: $BARETILE_SIM, else beside the library this code is in, else where the loader looks for that
// library's or program's needs: so a program that holds the static library finds it. Empty when there is none.
std::string in_tree_simulator() {
  if (const std::string path = environment("BARETILE_SIM"); !path.empty()) return path;
  Dl_info self{};
  link_map* code = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&in_tree_simulator), &self, reinterpret_cast<void**>(&code), RTLD_DL_LINKMAP) ==
      0)
    return {};
  std::vector<std::filesystem::path> folders;
  if (*code->l_name) folders.push_back(std::filesystem::absolute(code->l_name).parent_path());
  Dl_serinfo size{};
  if (dlinfo(code, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::byte> memory(size.dls_size);
    auto* list = new (memory.data()) Dl_serinfo(size);
    if (dlinfo(code, RTLD_DI_SERINFO, list) == 0)
      for (u32 i = 0; i < list->dls_cnt; ++i) folders.emplace_back((&list->dls_serpath[0])[i].dls_name);
  }
  for (const auto& folder : folders) {
    const auto path = folder / "libbaretile_sim.so";
    if (std::error_code none; std::filesystem::exists(path, none)) return std::filesystem::absolute(path).string();
  }
  return {};
}

const Sys& machine() {
  static const Sys sys = real_sys();
  return sys;
}

}  // namespace

std::string downloaded_ttsim() {
  const std::string cache = cache_folder();
  return cache.empty() ? cache : cache + "/ttsim/libttsim_bh.so";
}

std::vector<DeviceInfo> enumerate(const Sys& sys) {
  std::vector<DeviceInfo> found;
  if (const std::string path = environment("TTSIM"); !path.empty())
    found.push_back({DeviceKind::ttsim, "ttsim", path, fmt::format("ttsim, because TTSIM is set to {}", path)});
  std::vector<std::string> numbers = list_folder(sys, "/dev/tenstorrent");
  std::erase_if(numbers, [](const std::string& n) { return n.empty() || n.find_first_not_of("0123456789") != n.npos; });
  std::sort(numbers.begin(), numbers.end(),
            [](const std::string& a, const std::string& b) { return std::stoul(a) < std::stoul(b); });
  for (size_t i = 0; i < numbers.size(); i++) {
    const std::string path = "/dev/tenstorrent/" + numbers[i];
    found.push_back(
        {DeviceKind::kmd, numbered("kmd", i), path, fmt::format("card through tt-kmd, because {} exists", path)});
  }
  if (sys.is_root && numbers.empty()) {
    const std::vector<std::string> cards = find_cards(sys);
    for (size_t i = 0; i < cards.size(); i++)
      found.push_back({DeviceKind::sysfs, numbered("sysfs", i), cards[i],
                       fmt::format("card {} through sysfs, because tt-kmd is not loaded and we are root", cards[i])});
  }
  if (const std::string path = in_tree_simulator(); !path.empty())
    found.push_back(
        {DeviceKind::sim, "sim", path,
         fmt::format("baretile's simulator, {}",
                     found.empty() ? "because there is no card and TTSIM is not set" : "for when it is asked for")});
  const std::string ttsim = downloaded_ttsim();
  if (std::error_code none; environment("TTSIM").empty() && std::filesystem::exists(ttsim, none))
    found.push_back(
        {DeviceKind::ttsim, "ttsim", ttsim, "ttsim as 'baretile chip ttsim' got it, for when it is asked for"});
  return found;
}

std::unique_ptr<Device> open(const Sys& sys, const std::string& asked) {
  const std::string name = asked.empty() ? environment("BARETILE_DEVICE") : asked;
  const std::vector<DeviceInfo> found = enumerate(sys);
  const auto info = name.empty()
                        ? found.begin()
                        : std::find_if(found.begin(), found.end(), [&](const DeviceInfo& d) { return d.name == name; });
  if (info == found.end()) {
    if (found.empty())
      throw SystemError(
          "no Blackhole here: no card, TTSIM is not set, and no libbaretile_sim.so stands beside libbaretile.so; "
          "'baretile chip "
          "check' says what is missing",
          "/dev/tenstorrent");
    std::vector<std::string> names;
    for (const DeviceInfo& d : found) names.push_back(d.name);
    const char* cure = name == "ttsim" ? "set TTSIM to a libttsim.so, or get one by 'baretile chip ttsim'"
                                       : "'baretile chip check' says what others need";
    throw UsageError(fmt::format("device '{}' is not here; there is {}, and {}", name, fmt::join(names, ", "), cure));
  }
  switch (info->kind) {
    case DeviceKind::kmd:
      return open_kmd(sys, *info);
    case DeviceKind::sysfs:
      return open_sysfs(sys, *info);
    case DeviceKind::ttsim:
    case DeviceKind::sim:
      break;
  }
  return open_sim_library(*info);
}

}  // namespace baretile::pci

namespace baretile {

std::string cache_folder() {
  using pci::environment;
  if (const std::string folder = environment("BARETILE_CACHE_DIR"); !folder.empty()) return folder;
  if (const std::string folder = environment("XDG_CACHE_HOME"); !folder.empty()) return folder + "/baretile";
  const std::string home = environment("HOME");
  return home.empty() ? home : home + "/.cache/baretile";
}

std::vector<DeviceInfo> enumerate_devices() { return pci::enumerate(pci::machine()); }
std::unique_ptr<Device> open_device(const std::string& name) { return pci::open(pci::machine(), name); }

}  // namespace baretile
