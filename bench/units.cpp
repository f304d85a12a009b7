// How fast each simulator executes what kernels are made of. Every row: CPU time of a loop in one kernel, with the launch's own cost taken out by
// running two lengths. Without TTSIM only the in-tree column is filled.
//   TTSIM=/path/libttsim.so build/release/bin/bench_units
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "baretile/runtime.h"
#include "compiler/build/build.h"
#include "operands.h"

namespace baretile::bench {
namespace {

constexpr const char* kMvmulOneRow = R"(
extern "C" void kernel_trisc1(const u32* args) {
  setup_math<Format::fp32>();
  record_group_product<1, false>();
  zero_rows<0, 64>();
  for (u32 n = args[0]; n; --n) {
    product<4, 1, 0, 0>(); product<4, 1, 0, 0>(); product<4, 1, 0, 0>(); product<4, 1, 0, 0>();
    drain();
  }
  reset_counters<kSrcA | kSrcB>();
  drain();
}
)";
constexpr const char* kSfpu = R"(
#include "kernels/math.h"
using namespace baretile;
using namespace baretile::kernel;
template <u32 r> void multiply_add() { issue<encode(SFPMAD{.VD = r, .VC = 10, .VB = 10, .VA = r})>(); }
extern "C" void kernel_trisc1(const u32* args) {
  setup_math<Format::fp32>();
  for (u32 n = args[0]; n; --n) {
    multiply_add<0>(), multiply_add<1>(), multiply_add<2>(), multiply_add<3>(), multiply_add<4>(), multiply_add<5>(), multiply_add<6>(), multiply_add<7>();
    multiply_add<0>(), multiply_add<1>(), multiply_add<2>(), multiply_add<3>(), multiply_add<4>(), multiply_add<5>(), multiply_add<6>(), multiply_add<7>();
    drain();
  }
}
)";
constexpr const char* kRiscV = R"(
#include "baretile/bits.h"
using namespace baretile;
extern "C" void kernel_brisc(const u32* args) {
  u32 a = 1, b = 2;
  for (u32 n = args[0]; n; --n)
    asm volatile("add %0, %0, %1\n xor %1, %1, %0\n slli %0, %0, 1\n add %1, %1, %0\n xori %0, %0, 5\n add %0, %0, %1" : "+r"(a), "+r"(b));
}
)";

struct Row {
  const char* name;
  std::string source;
  double per_round;  // units of the row's name
  u32 rounds, tiles;
};

double rate(Runtime& runtime, const Row& row) {
  const u32 tiles = std::min(row.tiles, runtime.workers());
  return row.per_round * tiles / seconds_a_round(runtime, row.source, row.rounds, tiles);
}

int run() {
  const Row rows[] = {
      {"MVMUL/s, all rows live", operands(0xFF) + kTakeOnce + kTileProduct, 16, 40, 64},
      {"MVMUL/s, one row live", operands(0x01) + kTakeOnce + kMvmulOneRow, 16, 200, 64},
      {"SFPMAD/s", kSfpu, 16, 2000, 4},
      {"RISC-V instructions/s", kRiscV, 8, 20000, 1000},
  };
  Runtime sim("sim");
  std::optional<Runtime> ttsim;
  if (std::getenv("TTSIM")) ttsim.emplace("ttsim");
  fmt::print("{:24}{:>14}{:>14}{:>8}\n", "", "in-tree", "ttsim", "ratio");
  for (const Row& row : rows) {
    const double ours = rate(sim, row), theirs = ttsim ? rate(*ttsim, row) : 0;
    fmt::print("{:24}{:14.3g}", row.name, ours);
    if (ttsim) fmt::print("{:14.3g}{:8.1f}", theirs, ours / theirs);
    fmt::print("\n");
  }
  return 0;
}

}  // namespace
}  // namespace baretile::bench

int main() { return baretile::bench::run(); }
