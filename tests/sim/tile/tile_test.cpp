#include "sim/tile/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;
using namespace diff::rv32;
using isa::Core;

TEST(Tile, ReleaseSetsThePcAndKeepsTheRest) {  // as ttsim; silicon would clear registers and local RAM
  Board board;
  const std::vector<u32> code = {addi(1, 1, 1), lui(0xFFB00, 8), lw(5, 8, 0), addi(5, 5, 1),
                                 sw(5, 8, 0),   sw(5, 0, 0x100), kStay};
  for (u32 round = 1; round <= 3; ++round) {
    board.run_brisc(code, 50);
    EXPECT_EQ(board.tile().core(0).x[1], round);
    EXPECT_EQ(board.read32(0x100), round);
    board.release({});
  }
}

TEST(Tile, ResetPcsFollowTheirOverrides) {
  Board board;
  for (Core core : {Core::ncrisc, Core::trisc0, Core::trisc1, Core::trisc2}) board.load(core, {addi(1, 0, 1), kStay});
  for (u32 k = 0; k < 4; ++k) board.write_code(0x20000 + 0x100 * k, {addi(1, 0, i32(10 + k)), kStay});
  board.release({Core::ncrisc, Core::trisc0, Core::trisc1, Core::trisc2});
  board.run(10);
  for (u32 k = 1; k < 5; ++k) EXPECT_EQ(board.tile().core(k).x[1], 1u);
  board.release({});
  board.write32(isa::kNcriscResetPc, 0x20000);
  board.write32(isa::kNcriscResetPcOverride, 1);
  for (u32 t = 0; t < 3; ++t) board.write32(isa::kTriscResetPc + 4 * t, 0x20100 + 0x100 * t);
  board.write32(isa::kTriscResetPcOverride, 0b101);  // not T1
  board.release({Core::ncrisc, Core::trisc0, Core::trisc1, Core::trisc2});
  board.run(10);
  EXPECT_EQ(board.tile().core(1).x[1], 10u);
  EXPECT_EQ(board.tile().core(2).x[1], 11u);
  EXPECT_EQ(board.tile().core(3).x[1], 1u);
  EXPECT_EQ(board.tile().core(4).x[1], 13u);
}

TEST(Tile, ACoreThatHoldsItselfStopsThere) {
  Board board;
  board.run_brisc(join({li(5, isa::kSoftReset), li(6, isa::kHoldAll), {sw(6, 5, 0), addi(1, 0, 1), kStay}}));
  EXPECT_EQ(board.tile().core(0).x[1], 0u);
  EXPECT_EQ(board.tile().core(0).state, CoreState::held);
}

TEST(Tile, SoftResetOfUnitsIsNotModelled) {
  Board board;
  EXPECT_THAT(fault_of([&] { board.write32(isa::kSoftReset, isa::kHoldAll | 1); }),
              HasSubstr("NotModelled: soft reset 0x47801"));
}

TEST(Tile, AMailboxHoldsOneValueAndBothSidesWait) {
  Board board;
  const u32 to_t0 = isa::kMailbox + 0x1000;
  board.load(Core::brisc,
             join({li(8, to_t0), {addi(5, 0, 5), sw(5, 8, 0), addi(5, 0, 6), sw(5, 8, 0), addi(1, 0, 1), kStay}}));
  board.release({Core::brisc});
  board.run(100);
  EXPECT_EQ(board.tile().core(0).x[1], 0u);
  EXPECT_THAT(board.chip.describe(), HasSubstr("waits for the mailbox from brisc to trisc0 to be read"));
  board.load(Core::trisc0, join({li(8, isa::kMailbox), {lw(5, 8, 0), lw(6, 8, 0), lw(7, 8, 0), kStay}}));
  board.release({Core::brisc, Core::trisc0});
  board.run(100);
  EXPECT_EQ(board.tile().core(0).x[1], 1u);
  EXPECT_EQ(board.tile().core(2).x[5], 5u);
  EXPECT_EQ(board.tile().core(2).x[6], 6u);
  EXPECT_THAT(board.chip.describe(), HasSubstr("trisc0 pc 0x6010 waits for a mailbox value from brisc to trisc0"));
}

TEST(Tile, LocalRamIsPrivate) {
  Board board;
  for (Core core : {Core::brisc, Core::ncrisc, Core::trisc2})
    board.load(core, {lui(0xFFB00, 8), addi(5, 0, i32(core) + 7), sw(5, 8, 0), lw(1, 8, 0), kStay});
  board.release({Core::brisc, Core::ncrisc, Core::trisc2});
  board.run(50);
  for (Core core : {Core::brisc, Core::ncrisc, Core::trisc2})
    EXPECT_EQ(board.tile().core(u32(core)).x[1], u32(core) + 7);
  EXPECT_THAT(fault_of([&] { board.read32(isa::kLocalRam); }), HasSubstr("BadAddress"));
}

TEST(Tile, TriscsHaveHalfTheLocalRam) {
  Board board;
  board.load(Core::trisc0, {lui(0xFFB01, 8), lw(5, 8, 0), kStay});
  board.release({Core::trisc0});
  EXPECT_THAT(fault_of([&] { board.run(10); }), HasSubstr("read at 0xffb01000"));
}

TEST(Tile, RegistersTakeAlignedWordsOnly) {
  Board board;
  u64 out;
  EXPECT_THAT(fault_of([&] { board.tile().read(isa::kSoftReset, &out, 8); }), HasSubstr("8 bytes at 0xffb121b0"));
  EXPECT_THAT(fault_of([&] { board.tile().read(isa::kSoftReset + 1, &out, 4); }),
              HasSubstr("aligned 32-bit registers only"));
  EXPECT_THAT(fault_of([&] { board.tile().read(isa::kL1Bytes - 4, &out, 8); }), HasSubstr("end beyond the 1.5 MiB"));
}

TEST(Tile, TheWallClockLatchesItsHighHalf) {
  Board board;
  board.run((u64{3} << 32) + 17);
  EXPECT_EQ(board.read32(isa::kWallClockHi), 0u);
  EXPECT_EQ(board.read32(isa::kWallClockLo), 17u);
  EXPECT_EQ(board.read32(isa::kWallClockHi), 3u);
}

}  // namespace
}  // namespace baretile::sim
