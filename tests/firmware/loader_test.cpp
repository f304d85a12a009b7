#include "firmware/loader.h"

#include <gmock/gmock.h>

#include <fstream>
#include <regex>

#include "baretile/isa/mmio.h"
#include "runtime/support.h"

namespace baretile {
namespace {

class LoaderTest : public OnSimulator {};
ON_EACH_SIMULATOR(LoaderTest);

abi::Mailbox mailbox(Chip& chip, NocXY tile) {
  abi::Mailbox box;
  chip.read(tile, abi::kMailbox, std::as_writable_bytes(std::span(&box, 1)));
  return box;
}

void expect_all_idle(Chip& chip, const firmware::Grid& grid) {
  chip.device().progress(100);
  for (u32 i = 0; i < grid.tiles.size(); ++i) {
    const abi::Mailbox box = mailbox(chip, grid.tiles[i]);
    ASSERT_EQ(box.waypoints[0], abi::waypoint("IDLE")) << "tile " << i;
    ASSERT_EQ(box.info.logical_index, i);
    ASSERT_EQ(box.info.tiles, grid.tiles.size());
    ASSERT_EQ(box.sequence, 0);
  }
}

TEST_P(LoaderTest, BringsEveryTileToItsIdleLoop) {
  Chip chip(device());
  const firmware::Grid grid = firmware::boot(chip, true);
  EXPECT_EQ(grid.tiles.size(), chip.tiles().size());
  EXPECT_EQ(grid.workers() + 1, chip.tiles().size());
  EXPECT_EQ(grid.dispatch(), chip.tiles().back());
  expect_all_idle(chip, grid);
  EXPECT_EQ(mailbox(chip, grid.tiles[0]).waypoints[1], 0) << "NCRISC is held in reset";
}

TEST_P(LoaderTest, FollowersWaitInFirmwareWhenTheyAreNotParked) {
  Chip chip(device());
  const firmware::Grid grid = firmware::boot(chip, false);
  chip.device().progress(100);
  for (const NocXY tile : {grid.tiles.front(), grid.dispatch()})
    for (const u32 waypoint : mailbox(chip, tile).waypoints) EXPECT_EQ(waypoint, abi::waypoint("IDLE"));
}

TEST_P(LoaderTest, TellsTilesWhereEverythingIs) {
  Chip chip(device());
  const firmware::Grid grid = firmware::boot(chip, true);
  const abi::TileInfo info = mailbox(chip, grid.tiles[3]).info;
  EXPECT_EQ(info.dram_banks, chip.dram_banks().size());
  for (u32 i = 0; i < grid.tiles.size(); ++i) {
    const abi::TileInfo own = mailbox(chip, grid.tiles[i]).info;
    ASSERT_EQ(to_noc({u8(own.column), u8(own.row)}), grid.tiles[i]);
    for (u32 b = 0; b < own.dram_banks; ++b) {
      ASSERT_EQ(own.dram_coord[b] & 63, chip.dram_banks()[b].x);
      ASSERT_LT((own.dram_coord[b] >> 6) - chip.dram_banks()[b].y, 3u) << "one of the bank's three ports";
    }
  }
  u32 receivers = 0;
  for (u32 r = 0; r < info.mcast_rects; ++r) receivers += info.mcast_tiles[r];
  EXPECT_EQ(receivers, grid.workers());
}

TEST_P(LoaderTest, BootsAgainOverARunningFirmware) {
  Chip chip(device());
  firmware::boot(chip, false);
  expect_all_idle(chip, firmware::boot(chip, true));
}

TEST_P(LoaderTest, StopHoldsEveryCore) {
  Chip chip(device());
  const firmware::Grid grid = firmware::boot(chip, true);
  firmware::stop(chip, grid);
  for (const NocXY tile : grid.tiles) ASSERT_EQ(chip.read32(tile, isa::kSoftReset), isa::kHoldAll);
}

// cfg0 as the firmware leaves it: L0 data cache and .ttinsn fusion off, branch predictor on (CSRs.md, bits 3, 18 and
// 1).
TEST_P(LoaderTest, EveryCoreRunsWithTheSameConfiguration) {
  Bench bench(device());
  bench.program.kernels = {build_kernel("cfg0", kKernelStart + R"(
static u32 cfg0() { u32 value; asm volatile("csrrs %0, 0x7c0, zero" : "=r"(value)); return value & 0x4000A; }
static void follower(u32 core) { word(abi::kData + 4 * core) = cfg0(); fence(); box.cb[core].pushed = 1; }
extern "C" void kernel_ncrisc(const u32*) { follower(1); }
extern "C" void kernel_trisc0(const u32*) { follower(2); }
extern "C" void kernel_trisc1(const u32*) { follower(3); }
extern "C" void kernel_trisc2(const u32*) { follower(4); }
extern "C" void kernel_brisc(const u32* args) {
  word(abi::kData) = cfg0();
  for (u32 core = 1; core < 5; ++core) while (box.cb[core].pushed == 0) fence();
  transfer(false, abi::kData, args[0], box.info.logical_index, 64);
})")};
  bench.launch();
  for (const auto& page : bench.run())
    for (u32 core = 0; core < isa::kCores; ++core) ASSERT_EQ(page[core], 0x40008) << "core " << core;
}

// On silicon an L1 line stays in a core's L0 until a fence; no simulator but ours would notice.
TEST(FirmwareSource, EveryPollLoopHasAFence) {
  u32 loops = 0;
  for (const auto& file : std::filesystem::directory_iterator(BARETILE_SOURCE_DIR "/src/firmware")) {
    if (file.path().extension() != ".cc") continue;
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      if (!std::regex_search(line, std::regex(R"(\bwhile \()"))) continue;
      ++loops;
      EXPECT_THAT(line, testing::HasSubstr("fence();")) << file.path();
    }
  }
  EXPECT_GE(loops, 7);
}

}  // namespace
}  // namespace baretile
