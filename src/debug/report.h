// What a launch printed, and why one does not end.
#pragma once
#include "baretile/chip.h"
#include "baretile/program.h"
#include "debug/record.h"
#include "firmware/loader.h"

namespace baretile::debug {

// A launch on its way, and where the tiles have its kernel.
struct Running {
  Chip& chip;
  const firmware::Grid& grid;
  const KernelImage& kernel;
  u32 address = 0;   // of the image in L1
  u32 sequence = 0;  // of the launch
  std::string name;  // "launch 'x' (2 of 3)"
};

// Lines of a kernel, read once. `why_not` says why there are none.
class KernelSymbols {
 public:
  const Symbols* of(const KernelImage& kernel, std::string& why_not);

 private:
  std::map<std::string, Symbols> by_key_;
};

// What bt_print wrote in all workers since the last time, one line each. Once the launch has ended, also how many
// records had no room, and the logs are empty. `shown` has a word for each core of each worker, zero at first.
std::vector<std::string> take_prints(const Running& running, KernelSymbols& symbols, std::vector<u32>& shown,
                                     bool ended);

// A bt_assert failed somewhere.
[[noreturn]] void throw_failure(const Running& running, KernelSymbols& symbols);

// Nothing moved for the deadline. Finds out where the cores of the first tile that waits are, at the cost of the kernel
// in its memory: the device must be booted again.
[[noreturn]] void throw_hang(const Running& running, std::chrono::milliseconds deadline, KernelSymbols& symbols);

}  // namespace baretile::debug
