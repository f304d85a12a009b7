#include "sim/tensix/sync.h"

#include <gmock/gmock.h>

#include "sim/tensix_replay.h"

namespace baretile::diff {
namespace {

using testing::HasSubstr;

TEST(Sync, RandomThreadsEndAsOnTtsim) { replay(random_sync, "sync.bin"); }

TEST(Sync, AThreadWaitsWhileItsSemaphoreIsZero) {
  EXPECT_THAT(play_lists([](List& t0, List& t1, List&) {
                init_semaphore(t0, 3, 2);
                wait_nonzero(t1, 3);
                t1.push(I::NOP{});
              }),
              HasSubstr("T1 SEMWAIT on semaphore 3 while zero (value 0, maximum 2)"));
  EXPECT_EQ(play_lists([](List& t0, List& t1, List&) {
              wait_nonzero(t1, 3);
              get(t1, 3);
              init_semaphore(t0, 3, 2);
              post(t0, 3);
            }),
            "");
}

TEST(Sync, PostingAboveTheMaximumAndTakingFromZeroAreFaults) {
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { post(t0, 1); }),
              HasSubstr("UndefinedBehaviour: SEMPOST of semaphore 1 at its maximum 0"));
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { get(t0, 1); }), HasSubstr("SEMGET of semaphore 1 at zero"));
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { init_semaphore(t0, 1, 1, 2); }),
              HasSubstr("with value 2 above its maximum 1"));
}

TEST(Sync, ACoresPostIgnoresTheMaximum) {
  CoprocessorPlayer player;
  for (u32 k = 0; k < 20; k++) player.tensix().semaphore_post(4);
  EXPECT_EQ(player.tensix().semaphore_value(4), 15u);
  for (u32 k = 0; k < 20; k++) player.tensix().semaphore_get(4);
  EXPECT_EQ(player.tensix().semaphore_value(4), 0u);
}

TEST(Sync, AMutexKeepsTheOthersOut) {
  EXPECT_THAT(play_lists([](List& t0, List& t1, List&) {
                t0.push(I::ATGETM{});
                t1.push(I::ATGETM{});
              }),
              HasSubstr("T1 ATGETM of mutex 0, held by T0"));
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { t0.push(I::ATRELM{}); }), HasSubstr("does not hold it"));
}

TEST(Sync, StallwaitWaitsForTheBanksItNames) {
  EXPECT_THAT(play_lists([](List&, List& t1, List&) { t1.push(I::STALLWAIT{.CondMask = 0x180, .BlockMask = 0x40}); }),
              HasSubstr("STALLWAIT until SrcA and SrcB is valid"));
  EXPECT_THAT(play_lists([](List&, List& t1, List&) { t1.push(I::STALLWAIT{.CondMask = 0x20, .BlockMask = 0x40}); }),
              HasSubstr("NotModelled: STALLWAIT with condition mask 0x20"));
}

TEST(Sync, DataValidMayOnlyBeClearedWhenItIsSet) {
  EXPECT_THAT(play_lists([](List&, List& t1, List&) { t1.push(I::SETRWC{.ClearAB = 2}); }),
              HasSubstr("data valid of SrcB cleared"));
  EXPECT_EQ(play_lists([](List&, List& t1, List&) {
              t1.push(I::SETC16{.Value = 2, .Reg = 7});  // CLR_DVALID_SrcB_Disable
              t1.push(I::SETRWC{.ClearAB = 2});
            }),
            "");
}

}  // namespace
}  // namespace baretile::diff
