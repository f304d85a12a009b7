#include "sim/tensix/coprocessor.h"

#include <gmock/gmock.h>

#include "sim/tensix/units.h"
#include "sim/tensix_replay.h"

namespace baretile::diff {
namespace {

using testing::HasSubstr;

// One 32x32x32 BF16 product by the three threads; the left operand is the identity, so the result is the right one.
TEST(Coprocessor, MultipliesATileByTheIdentity) {
  CoprocessorPlayer player;
  const auto element = [](u32 r, u32 c) { return (r / 16 * 2 + c / 16) * 256 + r % 16 * 16 + c % 16; };
  const auto put = [&](u32 base, u32 index, u16 value) { std::memcpy(player.l1() + base + 2 * index, &value, 2); };
  for (u32 r = 0; r < 32; r++) {
    put(kL1B, element(r, r), 0x3F80);
    for (u32 c = 0; c < 32; c++) put(kL1A, element(r, c), u16(0x3F80 + (r * 5 + c) % 128));
  }
  EXPECT_EQ(play_lists(player,
                       [](List& t0, List& t1, List& t2) {
                         configure_unpacker(t0, 0, {});
                         configure_unpacker(t0, 1, {.addr = kL1B});
                         configure_unpack_thread(t0, true);
                         t0.push(unpacr(0, true));
                         t0.push(unpacr(1, true));
                         configure_math(t1, {});
                         init_semaphore(t1, 1, 1);
                         t1.drain();
                         matmul_tile(t1, 2);
                         post(t1, 1);
                         configure_packer(t2, {});
                         wait_nonzero(t2, 1);
                         pack_rows(t2, 16);
                         get(t2, 1);
                       }),
            "");
  EXPECT_EQ(std::memcmp(player.l1() + kL1Out, player.l1() + kL1A, 2048), 0);
}

TEST(Coprocessor, AThreadAtItsGateLetsTheOthersGoOn) {
  CoprocessorPlayer player;
  sim::Coprocessor& tensix = player.tensix();
  tensix.push(1, I::encode(I::MVMUL{}));
  tensix.push(0, I::encode(I::SETDMAREG{.RegIndex16b = 2, .PayloadSigSel = 9}));
  EXPECT_TRUE(tensix.run());
  EXPECT_FALSE(tensix.run());
  EXPECT_TRUE(tensix.idle(0));
  EXPECT_FALSE(tensix.idle(1));
  EXPECT_EQ(tensix.gpr_read(0, 1), 9u);
  EXPECT_EQ(tensix.describe(0), "idle");
  EXPECT_THAT(tensix.describe(1), HasSubstr("MVMUL (0x26000000) until SrcA and SrcB is valid"));
}

TEST(Coprocessor, ReservedBitsAndUnknownOpcodesAreFaultsThatNameTheInstruction) {
  EXPECT_THAT(play_lists([](List&, List& t1, List&) { t1.push(0x26000400u); }),
              HasSubstr("ReservedBits: MVMUL (0x26000400) has reserved bits 0x400 set"));
  EXPECT_THAT(play_lists([](List&, List& t1, List&) { t1.push(0x29000000u); }),
              HasSubstr("NotModelled: instruction DOTPV"));
  EXPECT_THAT(play_lists([](List&, List& t1, List&) { t1.push(0u); }),
              HasSubstr("[Tensix thread 1, unknown opcode (0x00000000)]"));
  EXPECT_THAT(play_lists([](List& t0, List&, List&) { t0.push(I::SETDVALID{.Setvalid = 1}); }),
              HasSubstr("use UNPACR_NOP"));
}

TEST(Coprocessor, CoresSeeTheirRegistersAndNoOthers) {
  CoprocessorPlayer player;
  EXPECT_THROW(player.tensix().gpr_read(0, 64), sim::Fault);
  EXPECT_THROW(player.tensix().semaphore_post(8), sim::Fault);
  EXPECT_THROW(player.tensix().config_write(140, 0), sim::Fault);
}

}  // namespace
}  // namespace baretile::diff
