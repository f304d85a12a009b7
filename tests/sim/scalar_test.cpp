#include <gmock/gmock.h>

#include "sim/tensix/units.h"
#include "sim/tensix_replay.h"

namespace baretile::diff {
namespace {

using testing::HasSubstr;

TEST(Scalar, SetdmaregWritesOneHalf) {
  CoprocessorPlayer player;
  player.tensix().gpr_write(1, 5, 0x11112222);
  EXPECT_EQ(play_lists(player,
                       [](List&, List& t1, List&) {
                         t1.push(I::SETDMAREG{.RegIndex16b = 11, .PayloadSigSel = 0x1234, .PayloadSigSelSize = 2});
                       }),
            "");
  EXPECT_EQ(player.tensix().gpr_read(1, 5), 0x92342222u);
}

TEST(Scalar, AddsAndMultipliesRegisters) {
  CoprocessorPlayer player;
  player.tensix().gpr_write(0, 1, 0xFFFF0007);
  player.tensix().gpr_write(0, 2, 0x00010009);
  EXPECT_EQ(play_lists(player,
                       [](List& t0, List&, List&) {
                         t0.push(I::ADDDMAREG{.OpARegIndex = 1, .OpBRegIndex = 2, .ResultRegIndex = 3});
                         t0.push(I::MULDMAREG{.OpARegIndex = 1, .OpBRegIndex = 2, .ResultRegIndex = 4});
                       }),
            "");
  EXPECT_EQ(player.tensix().gpr_read(0, 3), 16u);
  EXPECT_EQ(player.tensix().gpr_read(0, 4), 63u);
}

TEST(Scalar, WrcfgCopiesOneWordOrFour) {
  CoprocessorPlayer player;
  for (u32 k = 0; k < 4; k++) player.tensix().gpr_write(2, 8 + k, 100 + k);
  EXPECT_EQ(play_lists(player,
                       [](List&, List&, List& t2) {
                         t2.push(I::WRCFG{.CfgReg = 68, .Wr128b = 1, .Gpr = 8});
                         t2.push(I::WRCFG{.CfgReg = 76, .Gpr = 9});
                         t2.push(I::RMWCIB2{.CfgReg = 76, .Data = 0xFF, .Mask = 0x0F});
                         t2.push(I::RDCFG{.CfgReg = 76, .Gpr = 1});
                       }),
            "");
  EXPECT_EQ(player.tensix().config_read(69), 101u);
  EXPECT_EQ(player.tensix().config_read(70), 102u);
  EXPECT_EQ(player.tensix().gpr_read(2, 1), 101u | 0xF0000);
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { t0.push(I::WRCFG{.CfgReg = 69, .Wr128b = 1}); }),
              HasSubstr("multiples of 4"));
}

TEST(Scalar, CfgshiftmaskAddsTheScratchRegisterOfTheThread) {
  CoprocessorPlayer player;
  player.tensix().config_write(76, 1000);
  player.tensix().config_write(210, 77);
  EXPECT_EQ(play_lists(player,
                       [](List&, List& t1, List&) {
                         t1.push(I::CFGSHIFTMASK{
                             .CfgReg = 76, .ScratchSel = 3, .MaskWidth = 31, .Operation = 3, .DisableMaskOnOldVal = 1});
                       }),
            "");
  EXPECT_EQ(player.tensix().config_read(76), 1077u);
}

TEST(Scalar, StoresOnlyToTheOverlayAndOnlyWhereATileListens) {
  CoprocessorPlayer player;
  const auto store = [&](u32 addr) {
    return play_lists(player, [&](List& t0, List&, List&) {
      t0.push(I::STOREREG{.RegAddr = (addr - 0xFFB00000) >> 2, .TdmaDataRegIndex = 7});
    });
  };
  u32 seen[2] = {};
  const auto listener = [](void* context, u32 addr, u32 value) {
    static_cast<u32*>(context)[0] = addr;
    static_cast<u32*>(context)[1] = value;
  };
  player.tensix().set_register_store(listener, seen);
  player.tensix().gpr_write(0, 7, 42);
  EXPECT_EQ(store(0xFFB40010), "");
  EXPECT_EQ(seen[0], 0xFFB40010u);
  EXPECT_EQ(seen[1], 42u);
  EXPECT_THAT(store(0xFFB12000), HasSubstr("STOREREG to 0xffb12000"));
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { t0.push(I::STOREREG{.RegAddr = 0x10004}); }),
              HasSubstr("STOREREG to 0xffb40010"));
}

}  // namespace
}  // namespace baretile::diff
