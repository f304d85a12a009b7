#include <gmock/gmock.h>

#include <filesystem>

#include "baretile/isa/grid.h"
#include "runtime/support.h"

namespace baretile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class WatchdogTest : public OnSimulator {};
ON_EACH_SIMULATOR(WatchdogTest);

const RuntimeOptions kShort{.deadline = std::chrono::milliseconds(300), .hold_in_reset = {}};

// TRISC1 of worker 5 never returns.
const std::string kEndless = kKernelStart + R"(
extern "C" void kernel_brisc(const u32*) {}
extern "C" void kernel_trisc1(const u32*) {
  if (box.info.logical_index != 5) return;
  box.waypoints[3] = abi::waypoint("TEST");
  for (;;) fence();
})";

TEST_P(WatchdogTest, AKernelThatNeverReturnsIsNamedWithTileCoreWaypointAndLaunch) {
  {
    Bench bench(device(), kShort);
    bench.program.kernels = {build_kernel("nothing", kKernelStart + "extern \"C\" void kernel_brisc(const u32*) {}"),
                             build_kernel("endless", kEndless)};
    bench.launch();
    bench.launch({}, UINT32_MAX, 1);
    bench.launch();
    bench.program.launches[1].label = "the endless one";
    const u32 place = bench.runtime.noc_coord(5);
    try {
      bench.run();
      FAIL() << "no error";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.where, fmt::format("tile {}-{}, TRISC1", place & 63, place >> 6)) << "worker 5";
      EXPECT_EQ(error.waited_for, "launch 'the endless one' (2 of 3)");
      EXPECT_THAT(error.what(), AllOf(HasSubstr("TRISC1 TEST"), HasSubstr("BRISC  WAIT"), HasSubstr("and 0 more do")));
    }
    EXPECT_THROW(bench.clear(), DeviceError) << "the error stays";
    EXPECT_THROW(bench.run(), DeviceError);
  }
  Bench fresh(device(), kShort);
  fresh.program.kernels = {build_kernel("nothing", kKernelStart + "extern \"C\" void kernel_brisc(const u32*) {}")};
  fresh.launch();
  EXPECT_NO_THROW(fresh.run());
}

TEST_P(WatchdogTest, BriscItselfIsNamedWhenItDoesNotReturn) {
  Bench bench(device(), kShort);
  bench.program.kernels = {build_kernel("brisc", kKernelStart + R"(
extern "C" void kernel_brisc(const u32*) { for (;;) fence(); })")};
  bench.launch();
  try {
    bench.run();
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.where, "tile 1-11, BRISC");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("BRISC  KRNL at "),
                                    HasSubstr(std::to_string(bench.runtime.workers() - 1) + " more do")));
  }
}

// Many times the deadline, but with a page through a circular buffer now and then.
TEST_P(WatchdogTest, ASlowKernelThatMovesPagesIsLeftAlone) {
  Bench bench(device(), {.deadline = std::chrono::milliseconds(100), .hold_in_reset = {}});
  bench.program.kernels = {build_kernel("slow", kKernelStart + R"(
extern "C" void kernel_brisc(const u32*) {
  for (u32 page = 0; page < 400; ++page) {
    for (u32 i = 0; i < 500; ++i) fence();
    box.cb[0].pushed = page;
  }
})")};
  bench.launch();
  EXPECT_NO_THROW(bench.run());
}

TEST_P(WatchdogTest, ASimulatorFaultNamesTheLaunch) {
  Bench bench(device(), kShort);
  bench.program.kernels = {build_kernel("fault", kKernelStart + R"(
extern "C" void kernel_brisc(const u32*) { word(0xFFB99990) = 1; })")};
  bench.launch();
  try {
    bench.run();
    FAIL() << "no error";
  } catch (const SimFault& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("launch 'launch 0' (1 of 1)"));
  }
  EXPECT_THROW(bench.run(), SimFault);
}

size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return size_t(std::distance(begin(tasks), end(tasks)));
}

// They would run into unmapped code.
TEST_P(WatchdogTest, AFaultedSimulatorLeavesNoThreadsBehindItsLibrary) {
  const size_t before = threads_of_this_process();
  {
    Bench bench(device(), kShort);
    bench.program.kernels = {build_kernel("busy", kKernelStart + R"(
extern "C" void kernel_brisc(const u32*) {
  if (box.info.logical_index == 0) word(0xFFB99990) = 1;
  for (;;) fence();
})")};
    bench.launch();
    EXPECT_THROW(bench.run(), SimFault);
  }
  EXPECT_EQ(threads_of_this_process(), before);
}

}  // namespace
}  // namespace baretile
