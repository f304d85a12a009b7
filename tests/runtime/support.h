// Hand-written kernels on a simulator: what the runtime's tests share.
#pragma once
#include <gtest/gtest.h>

#include "baretile/chip.h"
#include "baretile/runtime.h"
#include "compiler/build/build.h"
#include "pci/simulators.h"

namespace baretile {

inline KernelImage build_kernel(const std::string& name, const std::string& text) {
  const compiler::KernelSource source{name, text};
  return compiler::build_kernels({&source, 1}, {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache"}).front();
}

// What the kernels of these tests include: their tile, and blocking transfers of up to 16 KiB between L1 and a DRAM
// page on NoC 1.
inline const std::string kKernelStart = R"(
#include "baretile/abi.h"
#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"
using namespace baretile;
static volatile u32& word(u32 address) { return *reinterpret_cast<volatile u32*>(address); }
static volatile abi::Mailbox& box = *reinterpret_cast<volatile abi::Mailbox*>(abi::kMailbox);
static void fence() { asm volatile("fence" ::: "memory"); }
static volatile u32& niu(u32 offset) { return word(isa::kNiuBase + isa::kNiuStride + offset); }
static void transfer(bool read, u32 l1, u32 base, u32 page, u32 bytes) {
  const u32 banks = box.info.dram_banks, length = base % abi::kBufferAlign, run = page / length,
            remote = base - length + (run / banks * length + page % length) * bytes, coord = box.info.dram_coord[run % banks];
  const u32 here = niu(isa::kNiuLogicalId) & 0xFFF, counter = read ? isa::kNiuReadAcks : isa::kNiuWriteAcks;
  fence();
  const u32 before = niu(counter);
  niu(isa::kNiuTargLo) = read ? remote : l1;
  niu(isa::kNiuTargMid) = 0;
  niu(isa::kNiuTargCoord) = read ? coord : here;
  niu(isa::kNiuRetLo) = read ? l1 : remote;
  niu(isa::kNiuRetMid) = 0;
  niu(isa::kNiuRetCoord) = read ? here : coord;
  niu(isa::kNiuTag) = 0;
  niu(isa::kNiuCtrl) = read ? isa::kNocRead : isa::kNocWrite;
  niu(isa::kNiuLen) = bytes;
  niu(isa::kNiuCmd) = 1;
  while (niu(counter) == before) fence();
  fence();
}
)";

// A runtime with a result page of 64 bytes a worker, external buffer 0 of every program.
class Bench {
 public:
  static constexpr u32 kPageBytes = 64, kPageWords = kPageBytes / 4;
  explicit Bench(std::unique_ptr<Device> device, const RuntimeOptions& options = {})
      : runtime(std::move(device), options), results_(runtime.allocate(kPageBytes, runtime.workers())) {
    program.buffers.push_back(
        {.name = "results", .shape = {runtime.workers()}, .pages = runtime.workers(), .external = 0});
    clear();
  }
  // Appends a launch of kernel 0 with the results' address and `constants` as arguments.
  void launch(std::vector<u32> constants = {}, u32 workers = UINT32_MAX, u32 kernel = 0) {
    Launch l{.kernel = kernel,
             .max_workers = workers,
             .args = {{LaunchArg::Kind::buffer, 0}},
             .label = "launch " + std::to_string(program.launches.size())};
    for (const u32 c : constants) l.args.push_back({LaunchArg::Kind::constant, c});
    program.launches.push_back(std::move(l));
  }
  // Words of each worker's page after all launches.
  std::vector<std::array<u32, kPageWords>> run() {
    const u64 address = results_.address();
    runtime.run(program, {&address, 1});
    std::vector<std::array<u32, kPageWords>> pages(runtime.workers());
    runtime.read_pages(results_, 0, std::as_writable_bytes(std::span(pages)));
    return pages;
  }
  void clear() {
    const std::vector<std::byte> zero(runtime.workers() * kPageBytes);
    runtime.write_pages(results_, 0, zero);
  }

  Runtime runtime;
  Program program;

 private:
  DeviceBuffer results_;
};

// Tests run on ttsim and on the in-tree simulator.
class OnSimulator : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SIMULATOR(GetParam());
    try {
      device_ = open_device(GetParam());
    } catch (const SystemError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<Device> device() { return device_ ? std::move(device_) : open_device(GetParam()); }

 private:
  std::unique_ptr<Device> device_;
};

#define ON_EACH_SIMULATOR(suite)                                     \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values("ttsim", "sim"), \
                           [](const auto& info) { return std::string(info.param); })

}  // namespace baretile
