#include "sim/sched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;
using namespace diff::rv32;
constexpr u64 kManyClocks = 1'000'000'000'000;  // would take an hour if anything ran

// Waits until the word at 0x1000 is not zero, stores it plus one at 0x1004, then stays.
std::vector<u32> wait_for_word() {
  return {lui(1, 8), lw(5, 8, 0), 0x0FF0000F, b_type(-8, 0, 5, 0), addi(5, 5, 1), sw(5, 8, 4), kStay};
}

TEST(Scheduler, SleepingCoresCostNothing) {
  Board board;
  for (u32 k = 0; k < board.chip.tiles(); ++k) {
    const NocXY at = board.chip.tile(k).translated();
    board.load(isa::Core::brisc, wait_for_word(), at.x, at.y);
    board.load(isa::Core::trisc1, {kStay}, at.x, at.y);
    board.release({isa::Core::brisc, isa::Core::trisc1}, at.x, at.y);
  }
  const auto start = std::chrono::steady_clock::now();
  board.run(kManyClocks);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(board.chip.scheduler().clock(), kManyClocks);
}

TEST(Scheduler, ALoopOfFencesSleeps) {  // where kernels end
  Board board;
  board.run_brisc({0x0FF0000F, jal(-4, 0)});
  board.run(kManyClocks);
  EXPECT_THAT(board.chip.describe(), HasSubstr("loops without reading"));
}

TEST(Scheduler, ManyTilesRunForALongQuantumAtOnce) {
  Board board;
  for (u32 k = 0; k < board.chip.tiles(); ++k) {
    const NocXY at = board.chip.tile(k).translated();
    board.load(isa::Core::brisc, {addi(5, 5, 1), jal(-4, 0)}, at.x, at.y);
    board.release({isa::Core::brisc}, at.x, at.y);
  }
  for (u32 step = 1; step <= 2; ++step) {
    board.run(1);
    const u64 clock = board.chip.scheduler().clock();
    EXPECT_GE(clock, 1000 * step);
    for (u32 k = 0; k < board.chip.tiles(); ++k) EXPECT_EQ(board.chip.tile(k).core(0).x[5], clock / 2);
  }
}

TEST(Scheduler, AHostWriteWakesAPollingCore) {
  Board board;
  board.run_brisc(wait_for_word());
  EXPECT_THAT(board.chip.describe(), HasSubstr("tile (1,2) brisc pc 0x4 polls 0x1000 (=0x0)"));
  board.write32(0x1000, 41);
  board.run(20);
  EXPECT_EQ(board.read32(0x1004), 42u);
  EXPECT_THAT(board.chip.describe(), HasSubstr("loops without reading"));
}

TEST(Scheduler, AWriteBesideTheWordWakesNobody) {
  Board board;
  board.run_brisc(wait_for_word());
  board.write32(0x1008, 1);
  board.run(kManyClocks);
  EXPECT_EQ(board.read32(0x1004), 0u);
}

TEST(Scheduler, CoresOfATileWakeEachOther) {
  Board board;
  board.load(isa::Core::brisc, wait_for_word());
  std::vector<u32> other = {lui(1, 8), addi(6, 0, 200)};  // a delay, then the word
  other.insert(other.end(), {addi(6, 6, -1), b_type(-4, 0, 6, 1), addi(5, 0, 6), sw(5, 8, 0), kStay});
  board.load(isa::Core::ncrisc, other);
  board.release({isa::Core::brisc, isa::Core::ncrisc});
  board.run(600);
  EXPECT_EQ(board.read32(0x1004), 7u);
}

TEST(Scheduler, TimeGoesOnForACoreThatSleeps) {
  Board board;
  std::vector<u32> code = wait_for_word();
  code.pop_back();
  code.insert(code.end(), {lui(hi20(isa::kWallClockLo), 6), lw(7, 6, lo12(isa::kWallClockLo)), sw(7, 8, 8), kStay});
  board.run_brisc(code, 5000);
  board.write32(0x1000, 1);
  board.run(100);
  EXPECT_GE(board.read32(0x1008), 5000u);
  EXPECT_LT(board.read32(0x1008), 5020u);
}

TEST(Scheduler, ALoopOnTheWallClockRunsOn) {
  Board board;
  const std::vector<u32> code = {lui(hi20(isa::kWallClockLo), 6),
                                 addi(5, 0, 1000),
                                 lw(7, 6, lo12(isa::kWallClockLo)),
                                 b_type(-4, 5, 7, 6),
                                 addi(1, 0, 1),
                                 kStay};
  board.run_brisc(code, 900);
  EXPECT_EQ(board.tile().core(0).x[1], 0u);
  board.run(200);
  EXPECT_EQ(board.tile().core(0).x[1], 1u);
}

TEST(Scheduler, APollingLoopMayCallAFunction) {  // not inlined: it spills ra, the same value every turn
  Board board;
  constexpr u32 kSp = 2, kRa = 1;
  const std::vector<u32> code = {
      lui(0xFFB01, kSp), lui(1, 8),   jal(12, kRa),     b_type(-4, 0, 5, 0), kStay,  // 8: call, until not zero
      sw(kRa, kSp, -4),  lw(5, 8, 0), lw(kRa, kSp, -4), 0x00008067};                 // 20: the function
  board.run_brisc(code);
  board.run(kManyClocks);
  EXPECT_THAT(board.chip.describe(), HasSubstr("polls 0x1000"));
  board.write32(0x1000, 9);
  board.run(20);
  EXPECT_EQ(board.tile().core(0).x[5], 9u);
}

TEST(Scheduler, ALoopThatCountsInMemoryIsNoPollingLoop) {
  Board board;
  const std::vector<u32> code = {lui(0xFFB00, 8), lw(5, 8, 0), addi(5, 5, 1), sw(5, 8, 0), addi(5, 0, 0), jal(-16, 0)};
  board.run_brisc(code, 5000);
  EXPECT_THAT(board.chip.describe(), HasSubstr(" runs"));
}

TEST(Scheduler, StepsOfAnySizeEndAlike) {
  const auto run_in_steps = [](u64 step) {
    Board board;
    board.load(isa::Core::brisc, wait_for_word());
    const std::vector<u32> other = {lui(1, 8),    addi(6, 6, 1), sw(6, 8, 16), lw(7, 8, 4), b_type(-12, 0, 7, 0),
                                    sw(6, 8, 20), kStay};
    board.load(isa::Core::trisc2, other);
    board.release({isa::Core::brisc, isa::Core::trisc2});
    for (u64 done = 0; done < 2000; done += step) {
      board.run(step);
      if (done + step == 1000) board.write32(0x1000, 1);
    }
    return std::make_pair(board.read32(0x1004), board.tile().core(4).state == CoreState::polling);
  };
  EXPECT_EQ(run_in_steps(1000), run_in_steps(1));
  EXPECT_EQ(run_in_steps(250).first, 2u);
}

}  // namespace
}  // namespace baretile::sim
