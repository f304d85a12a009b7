// A 512 x 512 x 512 bf16 matmul at two fidelity phases, first (empty kernel cache) and repeated, beside the MVMUL instructions that it must
// execute, timed bare in the same run. ttnn on ttsim v1.10.0 takes 32.0 s first and 1.8 s repeated.
//   TTSIM=/path/libttsim.so build/release/bin/bench_matmul
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "baretile/tensor.h"
#include "operands.h"

namespace baretile::bench {
namespace {

constexpr i64 kSize = 512;
constexpr u32 kPhases = 2, kTiles = 64;
constexpr double kMvmuls = double(kSize) / 32 * double(kSize) / 32 * double(kSize) / 32 * 16 * kPhases;

std::vector<float> noise(u32 seed) {
  std::vector<float> values(kSize * kSize);
  for (float& v : values) {
    seed = seed * 1664525 + 1013904223;
    v = float(seed >> 8) / float(1 << 23) - 1;
  }
  return values;
}

double wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void measure(const char* device) {
  Runtime runtime(device);
  const Tensor x = Tensor::from_host(runtime, noise(1), {kSize, kSize}, DType::bf16), w = Tensor::from_host(runtime, noise(2), {kSize, kSize}, DType::bf16);
  const auto run = [&] {
    const double start = wall(), cpu = cpu_seconds();
    Tensor y = matmul(x, w, kPhases);
    y.realize();
    return std::pair(wall() - start, cpu_seconds() - cpu);
  };
  const auto first = run(), second = run(), third = run();
  const double repeated = std::min(second.second, third.second);
  const double bare = kMvmuls / (16 * kTiles) * seconds_a_round(runtime, operands(0xFF) + kTakeOnce + kTileProduct, 40, kTiles);
  fmt::print("{:8}first {:.2f} s; repeated {:.3f} s (CPU {:.3f} s), bare MVMUL loop {:.3f} s CPU: ratio {:.2f}\n", device, first.first,
             std::min(second.first, third.first), repeated, bare, repeated / bare);
}

}  // namespace
}  // namespace baretile::bench

int main() {
  const std::string cache = std::filesystem::temp_directory_path() / fmt::format("baretile-bench-{}", getpid());
  setenv("BARETILE_CACHE_DIR", cache.c_str(), 1);
  baretile::bench::measure("sim");
  if (std::getenv("TTSIM")) {
    std::filesystem::remove_all(cache);
    baretile::bench::measure("ttsim");
  }
  std::filesystem::remove_all(cache);
}
