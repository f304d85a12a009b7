// The device compiler: finding clang and lld, and running them.
#pragma once
#include <chrono>

#include "compiler/build/cache.h"

namespace baretile::compiler {

struct Toolchain {
  std::string clang, lld;  // paths; empty: not installed, then `version` is that of the last build
  std::string version;     // clang's first version line
};

// Looks through `search_path` (as PATH) for clang or clang-19 … clang-14 and the matching ld.lld. A compiler that was
// seen before is not started. SystemError when there is none and the cache was never filled either.
Toolchain find_toolchain(const KernelCache& cache, const std::string& search_path);

struct CompileMode {
  bool debug = false;                   // see kernels/debug/print.h
  bool lines = false;                   // with line tables, and the linked file stays beside the source as .elf
  std::filesystem::path precompiled{};  // what precompile() made for neither of these, or nothing
};

// What a kernel's image depends on besides source, headers and compiler.
std::string compile_flags(bool debug);

// The header that kernels begin with, for compile_kernel; a file appears whole or not at all. Whether it did: who
// compiles without it is told what is wrong.
bool precompile(const Toolchain& tools, const std::filesystem::path& headers, const std::filesystem::path& file);

// Compiles and links `source`, an existing file. Throws CompileError, or SystemError without a compiler.
KernelImage compile_kernel(const Toolchain& tools, const std::filesystem::path& headers,
                           const std::filesystem::path& source, CompileMode mode);

struct ProcessResult {
  int exit_code = 0;   // 128 + signal when one ended it
  std::string output;  // stdout and stderr
};

// Runs a program without a shell. SystemError when it cannot start or does not end before the deadline.
ProcessResult run_process(const std::vector<std::string>& command, std::chrono::seconds deadline);

}  // namespace baretile::compiler
