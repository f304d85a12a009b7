// Kernel sources to images, through the disk cache. Needs no device.
//   std::vector<KernelImage> images = build_kernels(std::vector<KernelSource>{{"fib", text}});
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "baretile/program.h"

namespace baretile::compiler {

// One C++ translation unit that defines some of extern "C" void kernel_brisc(const u32* args), kernel_ncrisc,
// kernel_trisc0 … 2. It may include baretile/{bits,abi}.h, baretile/isa/* and kernels/*.
struct KernelSource {
  std::string name, text;
  Launch work = {};  // what emit() knows of its launches: how the work is shared out over tiles
};

struct BuildOptions {
  std::string cache_folder = {};     // empty: cache_root()/kernels
  std::string search_path = {};      // where clang and ld.lld are; empty: $PATH
  std::optional<bool> debug = {};    // with bt_print and bt_assert; empty: whether $BARETILE_DEBUG is 1
  u64 cache_bytes = u64{256} << 20;  // least recently used kernels beyond this are removed
};

// A user's text, whose messages call it `name`.cc.
KernelSource user_source(const std::string& name, const std::string& text);

// Images in the order of `sources`, whose texts may repeat. What the cache lacks is compiled, at most one compiler a
// processor at a time.
std::vector<KernelImage> build_kernels(std::span<const KernelSource> sources, const BuildOptions& options = {});

// Of this process so far.
struct BuildStats {
  u64 compiled = 0, cached = 0;
  double seconds = 0;  // inside build_kernels
};
BuildStats build_stats();

}  // namespace baretile::compiler
