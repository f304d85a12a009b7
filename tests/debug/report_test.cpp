#include "debug/report.h"

#include <gmock/gmock.h>

#include <ctime>

#include "baretile/kernel.h"
#include "runtime/support.h"

namespace baretile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

KernelImage build(const std::string& name, const std::string& text, bool debug = true) {
  const compiler::KernelSource source{name, fmt::format("#line 1 \"{}.cc\"\n{}", name, text)};
  return compiler::build_kernels(
             {&source, 1}, {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache", .search_path = {}, .debug = debug})
      .front();
}
// "name.cc:line" of the only line that has `marker`.
std::string line_of(const std::string& name, const std::string& text, const std::string& marker) {
  const size_t at = text.find(marker);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(text.find(marker, at + 1), std::string::npos);
  return fmt::format("{}.cc:{}", name, std::count(text.begin(), text.begin() + i64(at), '\n') + 1);
}

class DebugTest : public OnSimulator {
 protected:
  // Lines of bt_print go to `lines`.
  RuntimeOptions options(std::chrono::milliseconds deadline = std::chrono::minutes(10), bool as_on_a_card = false) {
    return {.deadline = deadline, .hold_in_reset = !as_on_a_card, .print = [this](const std::string& l) {
              lines.push_back(l);
            }};
  }
  // What ends the launch.
  template <class Run>
  static DeviceError error_of(Run run) {
    try {
      run();
    } catch (const DeviceError& error) {
      return error;
    }
    throw std::runtime_error("no DeviceError");
  }
  std::vector<std::string> lines;
};
ON_EACH_SIMULATOR(DebugTest);

const std::string kStart =
    "#include \"kernels/kernel.h\"\nusing namespace baretile;\nusing namespace baretile::kernel;\n";

TEST_P(DebugTest, EveryCorePrintsItsValuesInTheirFormats) {
  Runtime runtime(device(), options());
  runtime.launch(build("formats", kStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  bt_print("start");
  bt_print("{} {:#x} {:>5}|", args[0], args[0], i32(args[1]));
}
extern "C" void kernel_ncrisc(const u32* args) { bt_print("{{{}}}", __builtin_bit_cast(float, args[2])); }
extern "C" void kernel_trisc0(const u32*) { bt_print("{} {}", true, Core::trisc0); }
extern "C" void kernel_trisc1(const u32*) { for (i32 i = -1; i < 2; ++i) bt_print("i = {}", i); }
extern "C" void kernel_trisc2(const u32*) { bt_print("{} {} {} {} {} {}", 1, 2u, short(-3), u8(4), 'A', 6); }
)"),
                 {26, u32(-7), std::bit_cast<u32>(1.5f)}, 1);
  const std::string tile = "[tile 1-11, ", launch = ", launch 'formats' (1 of 1)] ";
  EXPECT_THAT(lines, ElementsAre(tile + "BRISC" + launch + "start", tile + "BRISC" + launch + "26 0x1a    -7|",
                                 tile + "NCRISC" + launch + "{1.5}", tile + "TRISC0" + launch + "1 2",
                                 tile + "TRISC1" + launch + "i = -1", tile + "TRISC1" + launch + "i = 0",
                                 tile + "TRISC1" + launch + "i = 1", tile + "TRISC2" + launch + "1 2 -3 4 65 6"));
}

// The same kernel with and without; it also asserts what holds.
const std::string kMany = kStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  u32 sum = 0;
  for (u32 i = 0; i < args[0]; ++i) {
    sum = sum * 31 + i;
    bt_print("sum {} at {}", sum, i);
    bt_assert(i < args[0], i);
  }
  reg(abi::kData) = sum;
}
)";

TEST_P(DebugTest, AFullLogDropsAndCountsAndChangesNoResult) {
  Runtime runtime(device(), options());
  const auto sum = [&](u32 worker) {
    u32 word = 0;
    runtime.read_l1(worker, abi::kData, std::as_writable_bytes(std::span(&word, 1)));
    return word;
  };
  u32 expected = 0;
  for (u32 i = 0; i < 1000; ++i) expected = expected * 31 + i;
  runtime.launch(build("many", kMany, false), {1000}, 2);
  EXPECT_EQ(sum(1), expected);
  EXPECT_THAT(lines, ElementsAre());
  for (int round = 0; round < 2; ++round) {
    lines.clear();
    runtime.write_l1(1, abi::kData, std::vector<std::byte>(4));
    runtime.launch(build("many", kMany), {1000}, 2);
    EXPECT_EQ(sum(1), expected);
    ASSERT_EQ(lines.size(), 2 * 115) << "records of 12 bytes in a log of 1,392, of which 32 are kept for a bt_assert";
    EXPECT_THAT(lines[114], HasSubstr("886 more had no room in the log of 1392 bytes"));
    EXPECT_THAT(lines[115], AllOf(HasSubstr("[tile 1-2, BRISC, "), HasSubstr("sum 0 at 0")));
  }
}

TEST_P(DebugTest, LinesComeOnceEachAndWhileTheirKernelRuns) {
  std::vector<std::clock_t> times;
  RuntimeOptions timed = options();
  timed.print = [&](const std::string& line) {
    EXPECT_EQ(line, fmt::format("[tile 1-11, BRISC, launch 'slow' (1 of 1)] {}", times.size()));
    times.push_back(std::clock());
  };
  const KernelImage slow = build("slow", kStart + R"(
extern "C" void kernel_brisc(const u32* args) {
  for (u32 i = 0; i < 40; ++i) {
    bt_print("{}", i);
    for (u32 turn = 0; turn < args[0]; ++turn) fence();
  }
})");
  Runtime runtime(device(), timed);
  const u32 turns = std::string(GetParam()) == "sim" ? 1'500'000 : 4'000;  // together more than a tenth of a second
  for (int round = 0; round < 2; ++round) {
    times.clear();
    runtime.launch(slow, {turns}, 1);
    ASSERT_EQ(times.size(), 40);
    EXPECT_GT(times.back() - times.front(), CLOCKS_PER_SEC / 20) << "they come in more than one look at the log";
  }
}

TEST_P(DebugTest, EachLaunchOfAProgramSaysItsName) {
  Bench bench(device(), options());
  const std::string text = kStart + R"(extern "C" void kernel_brisc(const u32* args) { bt_print("{}", args[1]); })";
  bench.program.kernels = {build("plain", text, false), build("first", text), build("second", text + "\n")};
  bench.launch({5}, 1, 1);
  bench.launch({6}, 1, 0);
  bench.launch({7}, 1, 2);
  bench.run();
  EXPECT_THAT(lines, ElementsAre("[tile 1-11, BRISC, launch 'launch 0' (1 of 3)] 5",
                                 "[tile 1-11, BRISC, launch 'launch 2' (3 of 3)] 7"));
}

TEST(DebugCode, WithoutBaretileDebugThereIsNoCode) {
  std::string bare = kMany;
  for (const std::string call : {"bt_print(\"sum {} at {}\", sum, i);", "bt_assert(i < args[0], i);"})
    bare.replace(bare.find(call), call.size(), "");
  EXPECT_EQ(build("many", kMany, false).code, build("bare", bare, false).code);
  EXPECT_NE(build("many", kMany, false).code, build("many", kMany).code);
}

TEST_P(DebugTest, AFailedAssertionStopsTheProgramAtOnceWhateverCoreItIsOn) {
  constexpr const char* kNames[] = {"brisc", "ncrisc", "trisc0", "trisc1", "trisc2"};
  for (const std::string core : kNames) {
    lines.clear();
    const std::string text = kStart + R"(
template <u32 limit> inline void check(u32 n, i32 m) {
  bt_assert(n < limit && true, n, m);  // here
}
extern "C" void kernel_)" + core +
                             R"((const u32* args) {
  bt_print("before");
  for (u32 n = 0; n < 10; ++n)
    if (mailbox().info.logical_index == 3) check<7>(n, -1);
  reg(abi::kData) = 1;
})";
    Runtime runtime(device(), options(std::chrono::minutes(10), core.starts_with("trisc")));
    const auto start = std::chrono::steady_clock::now();
    const DeviceError error = error_of([&] { runtime.launch(build("assertion", text), {}, 5); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "the deadline is ten minutes";
    std::string name = core;
    for (char& c : name) c = char(std::toupper(c));
    EXPECT_EQ(error.where, "tile 1-5, " + name);
    EXPECT_EQ(error.what(), "tile 1-5, " + name + " stopped at " + line_of("assertion", text, "// here") +
                                ": bt_assert(n < limit && true); n, m = 7, -1 in launch 'assertion' (1 of 1); correct "
                                "the kernel");
    EXPECT_EQ(lines.size(), 5) << "what was printed before";
    EXPECT_THROW(runtime.read_l1(0, abi::kData, std::span<std::byte>()), DeviceError) << "the error stays";
  }
}

// Forwards to a device that outlives it, as a card does.
class Shared final : public Device {
 public:
  explicit Shared(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  u32 config_read(u32 offset) override { return device_->config_read(offset); }
  u64 bar_bytes(int bar) const override { return device_->bar_bytes(bar); }
  void read(int bar, u64 offset, std::span<std::byte> out) override { device_->read(bar, offset, out); }
  void write(int bar, u64 offset, std::span<const std::byte> data) override { device_->write(bar, offset, data); }
  DmaBuffer dma(size_t bytes) override { return device_->dma(bytes); }
  void progress(u32 cycles) override { device_->progress(cycles); }
  const DeviceInfo& info() const override { return device_->info(); }

 private:
  std::shared_ptr<Device> device_;
};

// BRISC spins in its own loop, NCRISC waits for a page of the library's ring, TRISC1 returns.
const std::string kHang = R"(#include "kernels/noc.h"
using namespace baretile;
using namespace baretile::kernel;
inline void wait_for_flag() {
  while (reg(abi::kData) == 0) fence();  // spins
}
extern "C" void kernel_brisc(const u32*) {
  if (mailbox().info.logical_index < 2) wait_for_flag();  // calls it
}
extern "C" void kernel_ncrisc(const u32*) {
  sync<OutputRing>().pushed = 5;
  sync<OutputRing>().popped = 3;
  if (mailbox().info.logical_index != 1) return;
  Producer<InputRing, 0x40000, Core::ncrisc, abi::waypoint("INFU")> ring;
  for (u32 page = 0; page < 4; ++page) {
    ring.reserve();  // waits for room
    ring.push(1);
  }
}
extern "C" void kernel_trisc1(const u32*) {}
)";

void expect_hang_report(const DeviceError& error, const std::string& spins, const std::string& calls,
                        const std::string& reserves) {
  EXPECT_EQ(error.where, "tile 1-11, BRISC");
  EXPECT_THAT(error.what(), AllOf(HasSubstr("tile 1-11, BRISC does not return from launch 'hang' (1 of 1)"),
                                  HasSubstr("tile 1-11 waits, and 1 more do:"), HasSubstr("\n  BRISC  KRNL at "),
                                  HasSubstr(spins + ", called at " + calls), HasSubstr("\n  NCRISC has returned"),
                                  HasSubstr("\n  TRISC1 has returned"),
                                  HasSubstr("\n  circular buffer 1: 2 pages in it (5 pushed, 3 popped)"),
                                  Not(HasSubstr("TRISC0")), Not(HasSubstr(reserves))));
}

TEST_P(DebugTest, AHangIsReportedWithSourceLinesAndTheChipWorksAgain) {
  const std::string spins = line_of("hang", kHang, "// spins"), calls = line_of("hang", kHang, "// calls it"),
                    room = line_of("hang", kHang, "// waits for room");
  const auto chip = std::shared_ptr<Device>(device());
  const KernelImage mark =
      build("mark", kStart + "extern \"C\" void kernel_trisc2(const u32*) { reg(abi::kData) = 7; }", false);
  for (const bool debug : {false, true}) {
    const auto works = [&](Runtime& runtime) {
      runtime.launch(mark, {});
      u32 word = 0;
      runtime.read_l1(runtime.workers() - 1, abi::kData, std::as_writable_bytes(std::span(&word, 1)));
      return word == 7;
    };
    auto hung =
        std::make_unique<Runtime>(std::make_unique<Shared>(chip), options(std::chrono::milliseconds(200), debug));
    EXPECT_TRUE(works(*hung));
    for (u32 w = 0; w < hung->workers(); ++w) hung->write_l1(w, abi::kData, std::vector<std::byte>(4));
    expect_hang_report(error_of([&] { hung->launch(build("hang", kHang, debug), {}); }), spins, calls, room);
    EXPECT_THROW(hung->launch(mark, {}), DeviceError) << "the error stays";
    // As after a process that ended without a word: its cores still run when the next one starts.
    Runtime next(std::make_unique<Shared>(chip), options());
    EXPECT_TRUE(works(next));
  }
}

TEST_P(DebugTest, AWaitOfTheKernelLibraryIsReportedWithItsCaller) {
  std::string text = kHang;
  text.replace(text.find("< 2"), 3, "> 999");
  Runtime runtime(device(), options(std::chrono::milliseconds(200)));
  const DeviceError error = error_of([&] { runtime.launch(build("ring", text), {}); });
  EXPECT_EQ(error.where, "tile 1-2, NCRISC");
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\n  BRISC  WAIT (the tile's other cores)"),
                                  HasSubstr("\n  NCRISC INFU (room in the input ring) at kernels/"),
                                  HasSubstr(", called at " + line_of("ring", text, "// waits for room")),
                                  HasSubstr("\n  circular buffer 0: 3 pages in it (3 pushed, 0 popped)")));
}

// The Tensix thread waits for a semaphore that nobody posts, and the core inside the load that waits for the thread.
// ttsim begins that anew all the time, so that it can be led away; a core of the in-tree simulator, and of a card, can
// not.
TEST_P(DebugTest, ACoreThatStandsInsideAnInstructionIsReportedByTheLastWaitItBegan) {
  const std::string text = kStart + R"(
extern "C" void kernel_brisc(const u32*) {}
extern "C" void kernel_trisc0(const u32*) {
  if (mailbox().info.logical_index != 0) return;
  issue<encode(SEMINIT{.SemMask = kDstGranted, .Init = 0, .Max = 1})>();
  take<kDstGranted>();
  drain();  // never ends
})";
  Runtime runtime(device(), options(std::chrono::milliseconds(200)));
  const DeviceError error = error_of([&] { runtime.launch(build("blocked", text), {}); });
  EXPECT_EQ(error.where, "tile 1-11, TRISC0");
  const bool inside = std::string(GetParam()) == "sim";
  EXPECT_THAT(error.what(), AllOf(HasSubstr(inside ? "\n  TRISC0 KRNL after kernels/kernel.h:"
                                                   : "\n  TRISC0 KRNL at kernels/kernel.h:"),
                                  HasSubstr(", called at " + line_of("blocked", text, "// never ends") +
                                            (inside ? ", waiting inside an instruction" : ""))));
}

}  // namespace
}  // namespace baretile
