// A cache folder and a search path of a test's own, with compilers that count how often they are started.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/build/build.h"
#include "compiler/build/clang.h"
#include "support/temporary_folder.h"

namespace baretile::compiler {
namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

inline void write_script(const fs::path& path, const std::string& body) {
  write_file(path, "#!/bin/sh\n" + body);
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                            fs::perms::others_exec);
}

class BuildTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(folder_, fs::perms::all);
    fs::create_directory(folder_ / "bin");
    const Toolchain real = find_toolchain(KernelCache(folder_ / "probe"), std::getenv("PATH"));
    fs::remove_all(folder_ / "probe");
    write_script(folder_ / "bin/clang",
                 "echo \"$*\" >> " + (folder_ / "log").string() + "\nexec " + real.clang + " \"$@\"\n");
    fs::create_symlink(real.lld, folder_ / "bin/ld.lld");
    write_file(folder_ / "log", "");
    fs::permissions(folder_ / "log", fs::perms::all);
  }

  BuildOptions options() const { return {.cache_folder = cache(), .search_path = folder_ / "bin"}; }
  fs::path cache() const { return folder_ / "cache"; }
  KernelImage build(const std::string& text) const {
    const KernelSource source{"k", text};
    return build_kernels({&source, 1}, options()).front();
  }
  // How often clang was started at all, and how often to compile.
  int starts(const std::string& with = "") const {
    int count = 0;
    std::ifstream in(folder_ / "log");
    for (std::string line; std::getline(in, line);) count += line.find(with) != std::string::npos;
    return count;
  }
  int compilations() const { return starts(" -c "); }
  std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> out;
    for (const auto& f : fs::directory_iterator(cache()))
      if (f.path().extension() == extension) out.push_back(f.path());
    return out;
  }

  const TemporaryFolder own_;
  const fs::path& folder_ = own_.path();
};

inline std::string kernel(int value) {
  return "#include \"baretile/abi.h\"\nextern \"C\" void kernel_brisc(const baretile::u32* args) { *(volatile "
         "baretile::u32*)args[0] = " +
         std::to_string(value) + "; }\n";
}

}  // namespace baretile::compiler
