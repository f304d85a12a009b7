#include "sim/tensix/unpacker.h"

#include <gmock/gmock.h>

#include "sim/tensix/units.h"
#include "sim/tensix_replay.h"

namespace baretile::diff {
namespace {

using testing::HasSubstr;

TEST(Unpacker, RandomUnpacksEndAsOnTtsim) { replay(random_unpack, "unpack.bin"); }

TEST(Unpacker, FillsBothBanksAndThenWaits) {
  EXPECT_THAT(play_lists([](List& t0, List&, List&) {
                configure_unpacker(t0, 0, {});
                configure_unpack_thread(t0, true);
                for (u32 k = 0; k < 3; k++) t0.push(unpacr(0, true));
              }),
              HasSubstr("until a bank of SrcA is free"));
}

TEST(Unpacker, PutsARowMajorTileIntoSrcFaceByFace) {
  CoprocessorPlayer player;
  for (u32 i = 0; i < 1024; i++) player.l1()[kL1A + i] = u8(i % 3 ? 0 : i / 16);
  EXPECT_EQ(play_lists(player,
                       [](List& t0, List&, List&) {
                         configure_unpacker(t0, 0, {.in = Format::int8, .out = Format::int8});
                         configure_unpack_thread(t0, true);
                         t0.push(unpacr(0, true));
                       }),
            "");
  const sim::SrcBank& bank = player.tensix().units().state.src_a[0];
  EXPECT_EQ(bank.format, Format::int8);
  EXPECT_EQ(bank.rows[33][0], 33u << 8 | 16);  // magnitude under the constant exponent 16 (SrcASrcB.md)
  EXPECT_EQ(bank.rows[33][1], 0u);
}

TEST(Unpacker, TransposesInsideEveryFace) {
  CoprocessorPlayer player;
  for (u32 i = 0; i < 1024; i++) {
    const u16 value = u16(0x4000 + i);
    std::memcpy(player.l1() + kL1A + 2 * i, &value, 2);
  }
  EXPECT_EQ(play_lists(player,
                       [](List& t0, List&, List&) {
                         configure_unpacker(t0, 0, {.extra_mode = I::cfg::THCON_SEC0_REG2_Haloize_mode(1)});
                         configure_unpack_thread(t0, true);
                         t0.push(unpacr(0, true));
                       }),
            "");
  const auto& rows = player.tensix().units().state.src_a[0].rows;
  for (u32 r = 0; r < 64; r++)
    for (u32 c = 0; c < 16; c++) {
      const u32 v = 0x4000 + (r / 16 * 16 + c) * 16 + r % 16;
      ASSERT_EQ(rows[r][c], (v & 0x7F) << 11 | v >> 7) << r << ' ' << c;
    }
}

TEST(Unpacker, RefusesWhatItDoesNotModelByName) {
  const auto message = [](u32 unit, UnpackOptions o, I::UNPACR insn) {
    return play_lists([&](List& t0, List&, List&) {
      configure_unpacker(t0, unit, o);
      configure_unpack_thread(t0, !o.to_dst);
      t0.push(insn);
    });
  };
  I::UNPACR insn = unpacr(0, true);
  insn.ZeroWrite2 = 1;
  EXPECT_THAT(message(0, {}, insn), HasSubstr("NotModelled: UNPACR of unpacker 0 with ZeroWrite2"));
  EXPECT_THAT(message(0, {.in = Format::bf16, .out = Format::fp16}, unpacr(0, true)),
              HasSubstr("of format 5 as format 1"));
  EXPECT_THAT(message(1, {.extra_mode = 1 << 8}, unpacr(1, true)), HasSubstr("THCON_SEC1_REG2_Haloize_mode"));
  EXPECT_THAT(message(0, {.addr = 0x17F800, .dst_row = 0}, unpacr(0, true)), testing::IsEmpty());
  EXPECT_THAT(message(0, {.addr = 0x17F810, .dst_row = 0}, unpacr(0, true)), HasSubstr("BadAddress"));
}

TEST(Unpacker, NopClearsABankAndGivesItToTheMatrixUnit) {
  CoprocessorPlayer player;
  sim::TensixUnits& u = player.tensix().units();
  u.state.src_a[0].rows[5][5] = 1;
  EXPECT_EQ(
      play_lists(player, [](List& t0, List&,
                            List&) { t0.push(I::UNPACR_NOP{.UnpackPop = 1, .SrcClrValCtrl = 1, .SetDvalid = 1}); }),
      "");
  EXPECT_EQ(u.state.src_a[0].rows[5][5], 0x7FFFFu);
  EXPECT_TRUE(u.sync.src[0].ready());
  EXPECT_EQ(u.sync.src[0].unpack_bank, 1u);
}

}  // namespace
}  // namespace baretile::diff
