// Kernels through emit, clang and the runtime, on a simulator.
#pragma once
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baretile/runtime.h"
#include "compiler/build/build.h"
#include "pci/simulators.h"
#include "tensor/kernel_case.h"

namespace baretile::kernel_test {

// Tests run on ttsim and on the in-tree simulator, each with one runtime for all of a process's tests.
class OnSimulator : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SIMULATOR(GetParam());
    try {
      runtime();
    } catch (const SystemError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Runtime& runtime() {
    static std::map<std::string, std::unique_ptr<Runtime>> runtimes;
    std::unique_ptr<Runtime>& r = runtimes[GetParam()];
    if (!r) r = std::make_unique<Runtime>(open_device(GetParam()));
    return *r;
  }
  // Runs one launch over buffers in stored form, on so many tiles at most; afterwards they hold what the device left.
  void launch(const KernelSpec& spec, std::vector<std::vector<u8>>& buffers, const std::vector<u32>& page_bytes,
              u32 most = UINT32_MAX) {
    const compiler::KernelSource source = compiler::emit(spec);
    Program program;
    program.kernels = compiler::build_kernels({&source, 1}, {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache"});
    Launch item = source.work;
    item.label = spec.name;
    item.max_workers = std::min(item.max_workers, most);
    std::vector<DeviceBuffer> memory;
    std::vector<u64> addresses;
    for (u32 n = 0; n < buffers.size(); ++n) {
      const u32 run = n < run_pages_.size() ? run_pages_[n] : abi::kRunPages;
      memory.push_back(runtime().allocate(page_bytes[n], buffers[n].size() / page_bytes[n], run));
      runtime().write_pages(memory[n], 0, std::as_bytes(std::span(buffers[n])));
      addresses.push_back(memory[n].address());
      const KernelBuffer& b = spec.buffers[n];
      program.buffers.push_back({.name = fmt::format("buffer {}", n),
                                 .shape = b.shape,
                                 .dtype = b.dtype,
                                 .tiling = b.tiling,
                                 .pages = memory[n].pages(),
                                 .external = i32(n)});
      item.args.push_back({LaunchArg::Kind::buffer, n});
    }
    program.launches.push_back(item);
    runtime().run(program, addresses);
    for (u32 n = 0; n < buffers.size(); ++n)
      runtime().read_pages(memory[n], 0, std::as_writable_bytes(std::span(buffers[n])));
  }
  std::vector<u32> run_pages_;  // of the buffers, where they are not as usual
};

// How far a result in fp32 may be from the exact one; rounding to an output's own format comes on top.
struct Tolerance {
  double ulp = 0;
  double relative = 0;  // to the largest magnitude in the output
};

class KernelTest : public OnSimulator {
 protected:
  // Runs the case and compares all its outputs with their references, and their padding with zero.
  void expect_outputs(const Case& c, Tolerance tolerance) {
    std::vector<std::vector<u8>> stored;
    std::vector<u32> page_bytes;
    for (const Matrix& m : c.buffers) {
      page_bytes.push_back(m.page_bytes());
      stored.push_back(m.values.empty() ? std::vector<u8>(m.pages() * m.page_bytes(), 0xA5) : encode(m));
    }
    launch(c.spec, stored, page_bytes);
    for (const compiler::Output& output : c.spec.compute.outputs) {
      Matrix got = c.buffers[output.access.buffer];
      EXPECT_EQ(decode(got, stored[output.access.buffer]), 0u) << c.spec.name << ": padding bytes that are not zero";
      compare(c, got, c.reference(output.step), tolerance);
    }
  }

 private:
  static void compare(const Case& c, const Matrix& got, const std::vector<double>& want, Tolerance tolerance) {
    const double rounding = got.tiling == Tiling::split ? std::ldexp(1.0, -14)
                            : got.dtype == DType::bf16  ? std::ldexp(1.0, -8)
                                                        : 0;
    double largest = 0;
    for (const double w : want)
      if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
    u32 wrong = 0;
    for (u32 b = 0; b < got.batch; ++b)
      for (u32 i = 0; i < got.rows; ++i)
        for (u32 j = 0; j < got.cols; ++j) {
          const double g = got.at(b, i, j), w = want[(size_t(b) * c.rows + i) * c.cols + j];
          if ((std::isnan(g) && std::isnan(w)) || g == double(float(w))) continue;
          const double ulp = std::ldexp(1.0, std::max(-126, std::ilogb(w)) - 23);
          const double allowed = tolerance.ulp * ulp + tolerance.relative * largest + rounding * std::fabs(w);
          if (!(std::fabs(g - w) <= allowed) && ++wrong <= 3)
            ADD_FAILURE() << fmt::format("{}: [{}, {}, {}] is {} instead of {}, allowed {}", c.spec.name, b, i, j, g, w,
                                         allowed);
        }
    EXPECT_EQ(wrong, 0u) << c.spec.name;
  }
};

}  // namespace baretile::kernel_test

#define ON_EACH_SIMULATOR(suite)                                     \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values("ttsim", "sim"), \
                           [](const auto& info) { return std::string(info.param); })
