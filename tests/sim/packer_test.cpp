#include "sim/tensix/packer.h"

#include <gmock/gmock.h>

#include "sim/tensix/units.h"
#include "sim/tensix_replay.h"

namespace baretile::diff {
namespace {

using testing::HasSubstr;

TEST(Packer, RandomPacksEndAsOnTtsim) { replay(random_pack, "pack.bin"); }

// Dst rows 0 … 63 of 16 bits hold BF16 1.0 times their row number's bits; one tile is packed from them.
struct Packed {
  CoprocessorPlayer player;
  std::string message;
  u16 at(u32 index) {
    u16 v;
    std::memcpy(&v, player.l1() + kL1Out + 2 * index, 2);
    return v;
  }
};

void pack(Packed& p, const PackOptions& o, u32 instructions, u32 interfaces, void (*more)(List&) = nullptr) {
  for (u32 r = 0; r < 1024; r++)
    for (u32 c = 0; c < 16; c++) p.player.tensix().units().state.dst.write16(r, c, sim::dst_of_bf16(u16(0x4000 + r)));
  p.message = play_lists(p.player, [&](List&, List& t1, List& t2) {
    configure_math(t1, {.dst = o.in, .zero_dst = false});
    configure_packer(t2, o);
    if (more) more(t2);
    t2.drain();
    t1.drain();
    for (u32 i = 0; i < instructions; i++) t2.push(I::PACR{.Last = i + 1 == instructions, .ReadIntfSel = interfaces});
  });
}

TEST(Packer, ReadsTheRowsItsInterfacesName) {
  for (auto [mask, rows] : {std::pair{0u, std::vector{0, 1, 2, 3}},
                            {1, {0}},
                            {3, {0, 1}},
                            {5, {0, 2}},
                            {10, {1, 3}},
                            {7, {0, 1, 2}},
                            {15, {0, 1, 2, 3}}}) {
    Packed p;
    pack(p, {.dst_row = 40}, 2, mask);
    ASSERT_EQ(p.message, "");
    for (u32 i = 0; i < 2 * rows.size(); i++)
      EXPECT_EQ(p.at(16 * i), 0x4000 + 40 + i / rows.size() * 4 + rows[i % rows.size()]) << mask;
  }
}

TEST(Packer, WritesZerosWhereTheEdgeMaskIsOff) {
  Packed p;
  pack(p, {}, 8, 0,
       [](List& t2) { t2.config(20, 1u << 2 * 3); });  // rows 3 and 19 of the tile take SEC1, whose mask is zero
  for (u32 r = 0; r < 32; r++) EXPECT_EQ(p.at(16 * r), r % 16 == 3 ? 0 : 0x4000 + r);
}

TEST(Packer, EmptyRowsOfDstReadAsZero) {
  Packed p;
  p.player.tensix().units().state.dst = {};
  p.message = play_lists(p.player, [](List&, List& t1, List& t2) {
    configure_math(t1, {.zero_dst = true});
    configure_packer(t2, {});
    t1.drain();
    pack_rows(t2, 1);
  });
  EXPECT_EQ(p.message, "");
  EXPECT_EQ(p.at(0), 0);
}

TEST(Packer, PutsBfpExponentsBeforeTheDatums) {
  Packed p;
  pack(p, {.out = Format::bfp8, .exp_section = 4}, 16, 0);
  EXPECT_EQ(p.player.l1()[kL1Out], 0x80);            // row 0 is 2.0: exponent 128
  EXPECT_EQ(p.player.l1()[kL1Out + 64], 0x40);       // and the magnitude 64 / 64
  EXPECT_EQ(p.player.l1()[kL1Out + 64 + 16], 0x41);  // 2 + 1/64, rounded up to the next 1/32
}

TEST(Packer, RefusesWhatItDoesNotModelByName) {
  Packed p;
  pack(p, {}, 1, 2);
  EXPECT_THAT(p.message, HasSubstr("NotModelled: PACR with read interface mask 2"));
  Packed q;
  pack(q, {}, 1, 0, [](List& t2) { t2.config(71, 1 << 20); });
  EXPECT_THAT(q.message, HasSubstr("THCON_SEC0_REG1_Exp_threshold_en (word 71)"));
  Packed s;
  pack(s, {}, 1, 0, [](List& t2) { t2.config(1, 0); });
  EXPECT_THAT(s.message, HasSubstr("UndefinedBehaviour: PACR with In_data_format 5"));
}

}  // namespace
}  // namespace baretile::diff
