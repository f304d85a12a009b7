#include <gmock/gmock.h>

#include "runtime/support.h"

namespace baretile {
namespace {

using testing::Each;
using testing::HasSubstr;

class RuntimeTest : public OnSimulator {};
ON_EACH_SIMULATOR(RuntimeTest);

// Each core says which core and tile it is and which argument it got; BRISC collects that through circular buffer
// counters.
const std::string kAllCores = kKernelStart + R"(
static void follower(u32 core, const u32* args) {
  word(abi::kData + 4 * core) = args[1 + core] + 1000 * core + box.info.logical_index;
  fence();
  box.cb[core].pushed = box.cb[core].pushed + 1;
}
extern "C" void kernel_ncrisc(const u32* args) { follower(1, args); }
extern "C" void kernel_trisc0(const u32* args) { follower(2, args); }
extern "C" void kernel_trisc1(const u32* args) { follower(3, args); }
extern "C" void kernel_trisc2(const u32* args) { follower(4, args); }
extern "C" void kernel_brisc(const u32* args) {
  word(abi::kData) = args[1] + box.info.logical_index;
  for (u32 core = 1; core < 5; ++core) while (box.cb[core].pushed != 1) fence();
  word(abi::kData + 20) = box.launch.workers;
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
}
)";

void expect_all_cores(Bench& bench) {
  bench.program.kernels = {build_kernel("all_cores", kAllCores)};
  bench.launch({7, 17, 27, 37, 47});
  for (int round = 0; round < 3; ++round) {
    bench.clear();
    const auto pages = bench.run();
    for (u32 w = 0; w < pages.size(); ++w) {
      for (u32 core = 0; core < 5; ++core)
        ASSERT_EQ(pages[w][core], 7 + 10 * core + 1000 * core + w) << "worker " << w << " core " << core;
      ASSERT_EQ(pages[w][5], pages.size());
    }
  }
}

TEST_P(RuntimeTest, EveryCoreOfEveryWorkerGetsItsArguments) {
  Bench bench(device());
  expect_all_cores(bench);
}

TEST_P(RuntimeTest, CoresThatWaitInFirmwareDoTheSame) {
  Bench bench(device(), {.hold_in_reset = false});
  expect_all_cores(bench);
}

TEST_P(RuntimeTest, OnlyAsManyWorkersTakePartAsTheLaunchAllows) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("mark", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  word(abi::kData) = args[1];
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
  for (const u32 workers : {0u, 1u, 2u, bench.runtime.workers() - 1, bench.runtime.workers(), 100000u}) {
    bench.program.launches.clear();
    bench.clear();
    bench.launch({55}, workers);
    const auto pages = bench.run();
    for (u32 w = 0; w < pages.size(); ++w) ASSERT_EQ(pages[w][0], w < workers ? 55 : 0) << w << " of " << workers;
  }
}

TEST_P(RuntimeTest, CircularBufferCountersAreZeroAtTheStartOfEachLaunch) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("counters", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  u32 found = 0;
  for (volatile abi::CircularBufferSync& cb : box.cb) {
    found |= cb.pushed | cb.popped;
    cb.pushed = 0x1234;
    cb.popped = 0x5678;
  }
  word(abi::kData) = found + 1;
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
  bench.launch();
  bench.launch();
  for (const auto& page : bench.run()) ASSERT_EQ(page[0], 1);
}

// More launches than the queue has records: each multiplies the tile's word by 3 and adds its argument.
TEST_P(RuntimeTest, LaunchesRunInOrderHoweverManyThereAre) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("horner", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  word(abi::kData) = word(abi::kData) * args[2] + args[1];
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
  bench.launch({1, 0});
  u32 expected = 1;
  for (u32 i = 0; i < 2500; ++i) {
    bench.launch({i, 3}, 2);
    expected = expected * 3 + i;
  }
  for (u32 round = 1; round <= 2; ++round) {  // the second one begins in the middle of the ring
    const auto pages = bench.run();
    EXPECT_EQ(pages[0][0], expected);
    EXPECT_EQ(pages[1][0], expected);
    EXPECT_EQ(pages[2][0], 1);
    EXPECT_EQ(bench.runtime.stats().launches, 2501 * round);
  }
}

// A word through the hardware mailbox from BRISC says which TRISC reads it (BabyRISCV/Mailboxes.md).
TEST_P(RuntimeTest, EachTriscRunsItsOwnFunction) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("mailboxes", kKernelStart + R"(
static void trisc(u32 core) { word(abi::kData + 4 * core) = word(isa::kMailbox); fence(); box.cb[core].pushed = 1; }
extern "C" void kernel_trisc0(const u32*) { trisc(2); }
extern "C" void kernel_trisc1(const u32*) { trisc(3); }
extern "C" void kernel_trisc2(const u32*) { trisc(4); }
extern "C" void kernel_brisc(const u32* args) {
  for (u32 i = 1; i <= 3; ++i) word(isa::kMailbox + 0x1000 * i) = 100 + i;
  for (u32 core = 2; core < 5; ++core) while (box.cb[core].pushed == 0) fence();
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
  bench.launch();
  for (const auto& page : bench.run())
    for (u32 thread = 0; thread < 3; ++thread) ASSERT_EQ(page[2 + thread], 101 + thread);
}

TEST_P(RuntimeTest, ProgramsPassTemporariesByTheirPlaceInTheArena) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("addresses", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  for (u32 i = 0; i < 3; ++i) word(abi::kData + 4 * i) = args[i];
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
  bench.program.buffers.push_back({.name = "a", .shape = {}, .arena_offset = 0});
  bench.program.buffers.push_back({.name = "b", .shape = {}, .arena_offset = 4096});
  bench.program.arena_bytes = 8192;
  bench.program.launches.push_back(
      {.kernel = 0,
       .max_workers = 1,
       .args = {{LaunchArg::Kind::buffer, 0}, {LaunchArg::Kind::buffer, 1}, {LaunchArg::Kind::buffer, 2}},
       .label = "addresses"});
  const auto page = bench.run()[0];
  EXPECT_NE(page[1], page[0]);
  EXPECT_EQ(page[2] - page[1], 4096);
  const u64 free = bench.runtime.free_bytes();
  bench.run();
  EXPECT_EQ(bench.runtime.free_bytes(), free) << "the second run allocates nothing";
}

TEST_P(RuntimeTest, KernelsThatDoNotFitTogetherReplaceTheOldest) {
  Bench bench(device());
  for (u32 k = 0; k < 8; ++k)
    bench.program.kernels.push_back(
        build_kernel("large", kKernelStart + "static constexpr u32 kIndex = " + std::to_string(k) + R"(;
extern "C" void kernel_brisc(const u32* args) {
  asm volatile("j 1f\n.zero 60000\n1:");
  const u32 so_far = word(abi::kData) * args[1];
  word(abi::kData) = so_far * 10 + kIndex;
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})"));
  for (const u32 k : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 1u, 2u})
    bench.launch({bench.program.launches.empty() ? 0u : 1u}, UINT32_MAX, k);
  for (int round = 0; round < 3; ++round)
    for (const auto& page : bench.run()) ASSERT_EQ(page[0], 123456712u);
  EXPECT_GT(bench.runtime.stats().kernels_loaded, 8) << "the arena holds five of them at once";
}

TEST_P(RuntimeTest, ALaunchCostsFewHostAccesses) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("nothing", kKernelStart + "extern \"C\" void kernel_brisc(const u32*) {}")};
  const DeviceBuffer page = bench.runtime.allocate(64, 1);
  const u64 address = page.address();
  for (const u32 launches : {1u, 300u}) {
    bench.program.launches.clear();
    for (u32 i = 0; i < launches; ++i) bench.launch();
    bench.runtime.run(bench.program, {&address, 1});
    const u64 before = bench.runtime.stats().host_accesses;
    bench.runtime.run(bench.program, {&address, 1});
    EXPECT_LE(bench.runtime.stats().host_accesses - before, 10) << launches << " launches";
  }
}

// Counts the clocks a simulator is given.
class ClockCounter final : public Device {
 public:
  ClockCounter(std::unique_ptr<Device> device, u64& clocks) : device_(std::move(device)), clocks_(clocks) {}
  u32 config_read(u32 offset) override { return device_->config_read(offset); }
  u64 bar_bytes(int bar) const override { return device_->bar_bytes(bar); }
  void read(int bar, u64 offset, std::span<std::byte> out) override { device_->read(bar, offset, out); }
  void write(int bar, u64 offset, std::span<const std::byte> data) override { device_->write(bar, offset, data); }
  DmaBuffer dma(size_t bytes) override { return device_->dma(bytes); }
  void progress(u32 cycles) override {
    clocks_ += cycles;
    device_->progress(cycles);
  }
  const DeviceInfo& info() const override { return device_->info(); }

 private:
  std::unique_ptr<Device> device_;
  u64& clocks_;
};

TEST_P(RuntimeTest, AnEmptyLaunchTakesAtMostTwoHundredClocks) {
  if (std::string(GetParam()) != "ttsim") GTEST_SKIP() << "clocks are instructions on ttsim only";
  u64 clocks = 0;
  Bench bench(std::make_unique<ClockCounter>(device(), clocks));
  bench.program.kernels = {build_kernel("nothing", kKernelStart + "extern \"C\" void kernel_brisc(const u32*) {}")};
  for (u32 i = 0; i < 500; ++i) bench.launch();
  clocks = 0;
  bench.run();
  RecordProperty("clocks_per_launch", int(clocks / 500));
  EXPECT_LE(clocks / 500, 200);
}

TEST_P(RuntimeTest, TwoRuntimesInOneProcessDoNotMeet) {
  Bench first(device()), second(device());
  for (Bench* bench : {&first, &second}) {
    bench->program.kernels = {build_kernel("constant", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  word(abi::kData) += args[1];
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
    bench->launch({bench == &first ? 5u : 7u});
  }
  const u32 start1 = first.run()[3][0], start2 = second.run()[3][0];
  EXPECT_EQ(first.run()[3][0], start1 + 5);
  EXPECT_EQ(second.run()[3][0], start2 + 7);
  EXPECT_EQ(first.run()[3][0], start1 + 10);
}

TEST_P(RuntimeTest, PagesComeBackAsTheyWereWritten) {
  Runtime runtime(device());
  const DeviceBuffer buffer = runtime.allocate(512, 1000);
  std::vector<u32> data(512 * 1000 / 4);
  for (u32 i = 0; i < data.size(); ++i) data[i] = i * 2654435761u;
  runtime.write_pages(buffer, 0, std::as_bytes(std::span(data)));
  std::vector<u32> part(512 * 11 / 4);
  runtime.read_pages(buffer, 987, std::as_writable_bytes(std::span(part)));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), data.begin() + 987 * 128));
  runtime.write_pages(buffer, 3, std::as_bytes(std::span(part)));
  std::vector<u32> all(data.size());
  runtime.read_pages(buffer, 0, std::as_writable_bytes(std::span(all)));
  std::copy(part.begin(), part.end(), data.begin() + 3 * 128);
  EXPECT_EQ(all, data);
  EXPECT_EQ(runtime.stats().bytes_written, 512 * 1011);
}

// 40 pages in runs of n: each worker copies every workers-th page of one buffer to the other, and adds to its first
// word.
TEST_P(RuntimeTest, PagesOfRunsOfAnyLengthAreWhereKernelsAndTheHostLookForThem) {
  Bench bench(device());
  Runtime& runtime = bench.runtime;
  const KernelImage kernel = build_kernel("runs", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  for (u32 page = box.info.logical_index; page < 40; page += box.launch.workers) {
    transfer(true, abi::kData, args[0], page, 512);
    word(abi::kData) += 5;
    transfer(false, abi::kData, args[1], page, 512);
  }
})");
  for (const u32 n : {1u, 3u, 4u, 18u, 255u}) {
    const DeviceBuffer from = runtime.allocate(512, 40, n), to = runtime.allocate(512, 40, 7);
    EXPECT_EQ(from.run_pages(), n);
    std::vector<u32> data(512 * 40 / 4), back(data.size());
    for (u32 i = 0; i < data.size(); ++i) data[i] = i * 2654435761u + n;
    runtime.write_pages(from, 0, std::as_bytes(std::span(data)));
    runtime.launch(kernel, {u32(from.address()), u32(to.address())}, 9);
    runtime.read_pages(to, 0, std::as_writable_bytes(std::span(back)));
    for (u32 page = 0; page < 40; ++page) data[page * 128] += 5;
    EXPECT_EQ(back, data) << "runs of " << n;
  }
  EXPECT_THROW(runtime.allocate(512, 40, 0), UsageError);
  EXPECT_THROW(runtime.allocate(512, 40, 256), UsageError);
  const u64 free = runtime.free_bytes();
  { const DeviceBuffer whole = runtime.allocate(512, 40, 18); }
  EXPECT_EQ(runtime.free_bytes(), free);
}

// What each worker's L1 holds goes to the tile that noc_coord names, and nowhere else.
TEST_P(RuntimeTest, ALaunchSeesTheL1ThatTheHostWrote) {
  Bench bench(device());
  Runtime& runtime = bench.runtime;
  const KernelImage kernel = build_kernel("l1", kKernelStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  word(abi::kData + 4) = word(abi::kData) + args[0];
  word(abi::kData + 8) = niu(isa::kNiuLogicalId) & 0xFFF;
})");
  for (u32 w = 0; w < runtime.workers(); ++w) {
    const u32 words[] = {w * 17, 0, 0};
    runtime.write_l1(w, abi::kData, std::as_bytes(std::span(words)));
  }
  runtime.launch(kernel, {5}, 100);
  for (u32 w = 0; w < runtime.workers(); ++w) {
    u32 words[3];
    runtime.read_l1(w, abi::kData, std::as_writable_bytes(std::span(words)));
    ASSERT_EQ(words[1], w < 100 ? w * 17 + 5 : 0);
    ASSERT_EQ(words[2], w < 100 ? runtime.noc_coord(w) : 0);
  }
}

TEST_P(RuntimeTest, MisuseIsNamedAndLeavesTheRuntimeUsable) {
  Bench bench(device());
  Runtime& runtime = bench.runtime;
  std::vector<std::byte> bytes(100);
  const DeviceBuffer buffer = runtime.allocate(64, 4);
  EXPECT_THROW(runtime.write_pages(buffer, 0, bytes), UsageError) << "100 bytes are not whole pages";
  bytes.resize(128);
  EXPECT_THROW(runtime.write_pages(buffer, 3, bytes), UsageError) << "past the end";
  EXPECT_THROW(runtime.read_pages({}, 0, bytes), UsageError) << "an empty buffer";
  EXPECT_THROW(runtime.allocate(0, 5), UsageError);
  EXPECT_THROW(runtime.allocate(4096, 9'000'000), OutOfMemory);
  Program program = bench.program;
  program.kernels = {build_kernel("nothing", kKernelStart + "extern \"C\" void kernel_brisc(const u32*) {}")};
  program.launches.push_back({.kernel = 1, .max_workers = 1, .args = {}, .label = "l"});
  EXPECT_THROW(runtime.run(program, {}), UsageError) << "no such kernel";
  program.launches[0] = {.kernel = 0, .max_workers = 1, .args = {{LaunchArg::Kind::buffer, 1}}, .label = "l"};
  EXPECT_THROW(runtime.run(program, {}), UsageError) << "no such buffer";
  program.launches[0].args[0].value = 0;
  EXPECT_THROW(runtime.run(program, {}), UsageError) << "no address for the external";
  const u64 start = buffer.address() - buffer.run_pages();
  EXPECT_THROW(runtime.run(program, {&start, 1}), UsageError) << "an address that says nothing of runs";
  program.launches[0].args.assign(abi::kMaxArgs + 1, {});
  EXPECT_THROW(runtime.run(program, {}), UsageError) << "too many arguments";
  program.launches[0].args.clear();
  program.kernels.push_back(
      {.name = "huge", .code = std::vector<u8>(abi::kKernelArenaBytes + 1), .entry = {0}, .key = "huge"});
  program.launches.push_back({.kernel = 1, .max_workers = 1, .args = {}, .label = "l"});
  EXPECT_THROW(runtime.run(program, {}), UsageError) << "an image larger than the arena";
  program.launches.pop_back();
  EXPECT_NO_THROW(runtime.run(program, {}));
  EXPECT_THROW(runtime.launch(program.kernels[0], std::vector<u32>(abi::kMaxArgs + 1)), UsageError);
  EXPECT_THROW(runtime.write_l1(runtime.workers(), abi::kData, bytes), UsageError) << "no such worker";
  EXPECT_THROW(runtime.write_l1(0, abi::kData - 4, bytes), UsageError) << "the kernels' part of L1";
  EXPECT_THROW(runtime.read_l1(0, abi::kData + abi::kDataBytes - 100, bytes), UsageError) << "past the end";
  EXPECT_THROW(runtime.read_l1(0, 0xFFFFFFF0, bytes), UsageError);
  EXPECT_THROW(runtime.noc_coord(runtime.workers()), UsageError);
}

}  // namespace
}  // namespace baretile
