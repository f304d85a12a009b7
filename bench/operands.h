// Kernels that time one kind of work: operands in SrcA and SrcB without DRAM, and the cost of a round without the launch's.
#pragma once
#include <fmt/format.h>

#include "baretile/runtime.h"
#include "clock.h"
#include "compiler/build/build.h"

namespace baretile::bench {

// BRISC puts two bf16 pages into the input ring: the left operand, in which of each eight rows only those set in `rows` are not zero, and behind it
// the right one. Values are uniform in (-1, 1), as a matrix's are: a simulator's branches cost more on mixed signs and exponents.
inline std::string operands(u32 rows) {
  return fmt::format(R"(
#include "kernels/math.h"
#include "kernels/unpack.h"
using namespace baretile;
using namespace baretile::kernel;
constexpr u32 kRight = InputRing::kBase + 2048;

u32 value(u32& seed) {{
  seed = seed * 1664525 + 1013904223;
  const u32 halvings = __builtin_ctz(seed >> 16 | 0x100);
  return (seed >> 16 & 0x8000) | (126 - halvings) << 7 | (seed >> 24 & 0x7F);
}}
extern "C" void kernel_brisc(const u32*) {{
  u32 seed = mailbox().info.logical_index;  // each tile its own values, or a branch predictor learns them all
  for (u32 i = 0; i < 1024; ++i) {{
    const bool live = i >= 512 || {:#x} >> (i / 8 % 8) & 1;
    reg(InputRing::kBase + 4 * i) = live ? value(seed) << 16 | value(seed) : 0;
  }}
  fence();
  sync<InputRing>().pushed = 2;
}}
)",
                     rows);
}

// T0 hands the operands over once; T1 gives the banks back at the end.
inline constexpr const char* kTakeOnce = R"(
extern "C" void kernel_trisc0(const u32*) {
  Unpacker<2048> unpacker;
  unpacker.to_src_a<Format::bf16>();
  unpacker.to_src_b<Format::bf16, 1024>();
  unpacker.left(unpacker.page());
  unpacker.right(kRight);
  unpacker.wait();
}
)";
// args[0] rounds of the 16 MVMULs of a 32 x 32 x 32 product.
inline constexpr const char* kTileProduct = R"(
extern "C" void kernel_trisc1(const u32* args) {
  setup_math<Format::fp32>();
  record_tile_product<false>();
  zero_rows<0, 64>();
  for (u32 n = args[0]; n; --n) { product<16, 1, 0, 0>(); drain(); }
  reset_counters<kSrcA | kSrcB>();
  drain();
}
)";

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
