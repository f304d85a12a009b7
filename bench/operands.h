// Kernels that time one kind of work: operands in SrcA and SrcB without DRAM, and the cost of a round without the launch's.
#pragma once
#include <fmt/format.h>

#include "baretile/runtime.h"
#include "clock.h"
#include "compiler/build/build.h"

namespace baretile::bench {

// BRISC puts two bf16 pages with values in [1, 2) into the input ring: the left operand, in which of each eight rows only those set in `rows` are
// not zero, and behind it the right one.
inline std::string operands(u32 rows) {
  return fmt::format(R"(
#include "kernels/math.h"
#include "kernels/unpack.h"
using namespace baretile;
using namespace baretile::kernel;
constexpr u32 kRight = InputRing::kBase + 2048;
extern "C" void kernel_brisc(const u32*) {{
  u32 seed = 1;
  for (u32 i = 0; i < 1024; ++i) {{
    seed = seed * 1664525 + 1013904223;
    const bool live = i >= 512 || {:#x} >> (i / 8 % 8) & 1;
    reg(InputRing::kBase + 4 * i) = live ? 0x3F803F80 | (seed >> 8 & 0x007F007F) : 0;
  }}
  fence();
  sync<InputRing>().pushed = 2;
}}
)",
                     rows);
}

// CPU seconds that `source` takes for each of args[0] rounds on every one of `tiles` tiles: two lengths are run, so that the launch drops out.
inline double seconds_a_round(Runtime& runtime, const std::string& source, u32 rounds, u32 tiles) {
  const compiler::KernelSource kernel{"bench", source};
  Program program;
  program.kernels = compiler::build_kernels({&kernel, 1});
  program.launches.push_back({.kernel = 0, .max_workers = tiles, .args = {{LaunchArg::Kind::constant, 1}}, .label = "bench"});
  const auto seconds = [&](u32 count) {
    program.launches[0].args[0].value = count;
    const double start = cpu_seconds();
    runtime.run(program, {});
    return cpu_seconds() - start;
  };
  seconds(1);
  const double shorter = seconds(rounds), longer = seconds(3 * rounds);
  return (longer - shorter) / (2.0 * rounds);
}

}  // namespace baretile::bench
