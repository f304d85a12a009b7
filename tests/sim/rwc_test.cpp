#include "sim/tensix/rwc.h"

#include <gtest/gtest.h>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

// ADDR_MOD_AB and ADDR_MOD_DST of mode 2, thread 1.
struct Mode {
  Mode(u32 ab, u32 dst, u32 bias = 0) {
    config.write_thread(1, 14, ab);
    config.write_thread(1, 30, dst);
    config.write_thread(1, 49, bias);
  }
  void apply(bool with_phase = true) { apply_address_mode(rwc, config, 1, 2, with_phase); }
  Config config;
  Rwc rwc;
};

TEST(Rwc, IncrementsWrapAtTheWidthOfTheCounters) {
  Mode m(40 | 24 << 8, 600 | 1 << 13);
  for (u32 k = 0; k < 5; k++) m.apply();
  EXPECT_EQ(m.rwc.a, 5 * 40 % 64);
  EXPECT_EQ(m.rwc.b, 5 * 24 % 64);
  EXPECT_EQ(m.rwc.dst, 5 * 600 % 1024);
  EXPECT_EQ(m.rwc.phase, 1u);
}

TEST(Rwc, CarriageReturnMovesBothValues) {
  Mode m(0x40 | 8, 0x400 | 16);
  m.rwc.a = 50, m.rwc.dst = 77;
  m.apply();
  m.apply();
  EXPECT_EQ(m.rwc.a, 16u);
  EXPECT_EQ(m.rwc.a_cr, 16u);
  EXPECT_EQ(m.rwc.dst, 32u);
}

TEST(Rwc, CToCrTakesTheCounterAlong) {
  Mode m(0, 0x1000 | 4);
  m.rwc.dst = 10;
  m.apply();
  EXPECT_EQ(m.rwc.dst, 14u);
  EXPECT_EQ(m.rwc.dst_cr, 14u);
}

TEST(Rwc, ClearsWinAndTheVectorUnitKeepsThePhase) {
  Mode m(0x8080 | 5, 0x8800 | 3);
  m.rwc = {.dst = 9, .dst_cr = 9, .a = 9, .a_cr = 9, .b = 9, .b_cr = 9, .phase = 2};
  m.apply(false);
  EXPECT_EQ(m.rwc.a + m.rwc.a_cr + m.rwc.b + m.rwc.dst + m.rwc.dst_cr, 0u);
  EXPECT_EQ(m.rwc.phase, 2u);
  m.apply();
  EXPECT_EQ(m.rwc.phase, 0u);
}

TEST(Rwc, ABiasIsAFault) {
  Mode m(0, 0, 1);
  EXPECT_THROW(m.apply(), Fault);
}

TEST(Rwc, SetrwcSetsWhatItsMaskNames) {
  Rwc r{.dst = 1, .a = 2, .a_cr = 5, .b = 3, .phase = 3};
  execute(r, isa::SETRWC{.BitMask = 9, .RwcA = 7, .RwcB = 7, .RwcCr = 1});
  EXPECT_EQ(r.a, 12u);
  EXPECT_EQ(r.b, 3u);
  EXPECT_EQ(r.dst, 1u);
  EXPECT_EQ(r.phase, 0u);
  EXPECT_THROW(execute(r, isa::SETRWC{.BitMask = 1, .RwcCr = 2}), Fault);
  execute(r, isa::INCRWC{.RwcA = 15, .RwcB = 15, .RwcD = 15});
  EXPECT_EQ(r.a, 27u);
  EXPECT_EQ(r.b, 18u);
  EXPECT_EQ(r.dst, 16u);
}

}  // namespace
}  // namespace baretile::sim
