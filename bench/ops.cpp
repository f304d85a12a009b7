// What operations cost, first (empty kernel cache, the device open) and repeated (median of five), beside ttnn 0.81.1
// and libtt 0.1.3 on ttsim v1.10.0; each in a process of its own. Errors are lengths: of all differences from double
// over that of all results. Ratios are of CPU seconds, with
// the compilers', to their wall clock: a loaded machine changes them least. Products of 512 also show the MVMUL
// instructions that they must execute, timed bare in the same process.
//   TTSIM=/path/libttsim.so build/release/bin/bench_ops
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>

#include "baretile/nn.h"
#include "operands.h"

namespace baretile::bench {
namespace {

using Values = std::vector<double>;
constexpr DType bf16 = DType::bf16, fp32 = DType::fp32;

struct Operand {
  Tensor tensor;
  Values values;  // as it stores them
  i64 cols;
};

Operand noise(Runtime& runtime, u32 seed, i64 rows, i64 cols, DType dtype) {
  std::vector<float> values(size_t(rows * cols));
  for (float& v : values) {
    seed = seed * 1664525 + 1013904223;
    v = (float(seed >> 8) / float(1 << 23) - 1) * 0.99f;  // which fills all bits
  }
  Tensor tensor = Tensor::from_host(runtime, values, {rows, cols}, dtype);
  const std::vector<float> there = tensor.to_host();
  return {tensor, {there.begin(), there.end()}, cols};
}

Values product(const Operand& x, const Operand& y) {
  const size_t inner = size_t(x.cols), cols = size_t(y.cols);
  Values out(x.values.size() / inner * cols);
  for (size_t i = 0; i < out.size() / cols; ++i)
    for (size_t k = 0; k < inner; ++k)
      for (size_t j = 0; j < cols; ++j) out[i * cols + j] += x.values[i * inner + k] * y.values[k * cols + j];
  return out;
}
Values rectified(Values x) {
  for (double& v : x) v = std::max(v, 0.0);
  return x;
}
// What a row of 128 becomes.
void normalise(std::span<double> row) {
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / 128;
  double square = 0;
  for (const double v : row) square += (v - mean) * (v - mean) / 128;
  for (double& v : row) v = (v - mean) / std::sqrt(square + 1e-5);
}
void exponentiate(std::span<double> row) {
  for (double& v : row) v = std::exp(v);
}
void soften(std::span<double> row) {
  exponentiate(row);
  const double total = std::accumulate(row.begin(), row.end(), 0.0);
  for (double& v : row) v /= total;
}
void gate(std::span<double> row) {
  for (double& v : row) v *= std::erfc(-v * M_SQRT1_2) / 2;
}

// A step of stochastic gradient descent; its error is the loss's.
std::pair<std::function<Tensor()>, Values> training_step(Runtime& rt) {
  const Operand x = noise(rt, 1, 32, 64, fp32), y = noise(rt, 2, 32, 32, fp32), v = noise(rt, 3, 64, 64, fp32),
                w = noise(rt, 4, 64, 32, fp32);
  static nn::MLP model{{{v.tensor.transpose().realize(), Tensor::zeros(rt, {64}).realize()},
                        {w.tensor.transpose().realize(), Tensor::zeros(rt, {32}).realize()}}};
  static nn::SGD sgd({.rate = 1e-4f});
  static nn::Trainer trainer([](const std::vector<Tensor>& in) { return nn::mse(model(in[0]), in[1]); },
                             model.parameters(), sgd);
  const Values out = product({{}, rectified(product(x, v)), 64}, w);
  double loss = 0;
  for (size_t i = 0; i < out.size(); ++i) loss += std::pow(out[i] - y.values[i], 2) / double(out.size());
  return {[x, y] { return trainer({x.tensor, y.tensor}); }, {loss}};
}

struct Case {
  const char* name;
  double first, repeated, error;  // the peer's
  u32 phases;                     // of the MVMULs of a product of 512
  std::function<std::pair<std::function<Tensor()>, Values>(Runtime&)> make;
};

auto of_one(DType dtype, Tensor (*call)(const Tensor&), void (*exact)(std::span<double>)) {
  return [=](Runtime& rt) {
    const Operand x = noise(rt, 1, 128, 128, dtype);
    Values want = x.values;
    for (size_t at = 0; at < want.size(); at += 128) exact(std::span(want).subspan(at, 128));
    return std::pair(std::function<Tensor()>([=] { return call(x.tensor); }), want);
  };
}
auto of_product(DType dtype, i64 size, Precision precision, bool relu_too = false) {
  return [=](Runtime& rt) {
    const Operand x = noise(rt, 1, size, size, dtype), w = noise(rt, 2, size, size, dtype);
    const auto call = [=] { return matmul(x.tensor, w.tensor, precision); };
    return relu_too ? std::pair(std::function<Tensor()>([=] { return relu(call()); }), rectified(product(x, w)))
                    : std::pair(std::function<Tensor()>(call), product(x, w));
  };
}
Tensor softmax_of(const Tensor& x) { return softmax(x); }
Tensor layer_norm_of(const Tensor& x) { return nn::layer_norm(x, 1, 0); }

const Case kCases[] = {
    {"matmul bf16 512, fast", 32.0, 1.9, 7.2e-3, 2, of_product(bf16, 512, Precision::fast)},
    {"matmul bf16 512", 12.5, 3.36, 1.7e-3, 4, of_product(bf16, 512, Precision::standard)},
    {"matmul fp32 512", 10.5, 3.0, 1.2e-3, 4, of_product(fp32, 512, Precision::standard)},
    {"matmul fp32 512, full", 10.5, 3.0, 1.2e-3, 12, of_product(fp32, 512, Precision::full)},
    {"relu(x @ w) bf16 128", 5.7, 0.062, 5.6e-3, 0, of_product(bf16, 128, Precision::standard, true)},
    {"add fp32 128", 7.1, 0.104, 2.8e-8, 0,
     [](Runtime& rt) {
       const Operand x = noise(rt, 1, 128, 128, fp32), y = noise(rt, 2, 128, 128, fp32);
       Values sum = x.values;
       for (size_t n = 0; n < sum.size(); ++n) sum[n] += y.values[n];
       return std::pair(std::function<Tensor()>([=] { return x.tensor + y.tensor; }), sum);
     }},
    {"gelu fp32 128", 8.2, 0.135, 6e-8, 0, of_one(fp32, gelu, gate)},
    {"exp bf16 128", 5.3, 0.064, 1.9e-3, 0, of_one(bf16, exp, exponentiate)},
    {"softmax bf16 128", 6.8, 0.052, 2.1e-2, 0, of_one(bf16, softmax_of, soften)},
    {"layer norm bf16 128", 9.4, 0.096, 1.8e-3, 0, of_one(bf16, layer_norm_of, normalise)},
    {"MLP step fp32 32x64x64x32", 93, 6.1, 0, 0, training_step},  // libtt's
};

double wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void measure(const char* device, const Case& c) {
  Runtime runtime(device);
  const auto [call, want] = c.make(runtime);
  const auto run = [&, call = call] {
    const auto cpu_now = [] { return cpu_seconds() + cpu_seconds(RUSAGE_CHILDREN); };  // with the kernel compilers
    const double start = wall(), cpu = cpu_now();
    Tensor y = call();
    y.realize();
    return std::tuple(wall() - start, cpu_now() - cpu, y);
  };
  const auto [first, first_cpu, result] = run();
  const u64 before = runtime.stats().launches;
  std::array<double, 5> walls, cpus, bares{}, ratios{};
  for (size_t n = 0; n < 5; ++n) std::tie(walls[n], cpus[n], std::ignore) = run();
  const u64 launches = (runtime.stats().launches - before) / 5;
  // The machine's speed swings within a run: both sides of a ratio are timed again, one right after the other. Of 16^3 tile products each of 64
  // tiles does 64.
  for (size_t n = 0; n < 5 && c.phases; ++n) {
    bares[n] = 64.0 * c.phases * seconds_a_round(runtime, operands(0xFF) + kTakeOnce + kTileProduct, 40, 64);
    ratios[n] = std::get<1>(run()) / bares[n];
  }
  for (auto* figures : {&walls, &cpus, &bares, &ratios}) std::sort(figures->begin(), figures->end());
  const std::vector<float> got = result.to_host();
  double errors = 0, squares = 0;
  for (size_t n = 0; n < got.size(); ++n) errors += std::pow(got[n] - want[n], 2), squares += want[n] * want[n];
  fmt::print("| {} | {:.2f} ({:.2f}) | {:.4f} ({:.4f}) | {} | {:.1e} | {} / {} | {} | {:.3f} | {:.3f} |", c.name, first,
             first_cpu, walls[2], cpus[2], launches, std::sqrt(errors / squares), c.first, c.repeated,
             c.error == 0 ? "" : fmt::format("{:.1e}", c.error), first_cpu / c.first, cpus[2] / c.repeated);
  fmt::print("{}\n", c.phases ? fmt::format(" {:.3f} | {:.2f} |", bares[2], ratios[2]) : " | |");
  std::fflush(stdout);
}

void table(const char* device, std::string_view only) {
  fmt::print(
      "\n| {} | first s (CPU) | repeated s (CPU) | launches | error | ttnn: first / repeated s | error | first, ",
      device);
  fmt::print("ratio | repeated, ratio | bare MVMULs, CPU s | ratio |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Case& c : kCases) {
    if (!only.empty() && only != c.name) continue;
    const std::string cache = std::filesystem::temp_directory_path() / fmt::format("baretile-bench-{}", getpid());
    std::fflush(stdout);
    if (const pid_t child = fork(); child == 0) {
      setenv("BARETILE_CACHE_DIR", cache.c_str(), 1);
      measure(device, c);
      std::_Exit(0);
    } else if (int status = 0; child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
      fmt::print("| {} | failed |\n", c.name);
    }
    std::filesystem::remove_all(cache);
  }
}

}  // namespace
}  // namespace baretile::bench

int main(int argc, char** argv) {  // all rows, or the one of that name
  const char* only = argc > 1 ? argv[1] : "";
  baretile::bench::table("sim", only);
  if (std::getenv("TTSIM")) baretile::bench::table("ttsim", only);
}
