#include "sim/tensix/config.h"

#include <gmock/gmock.h>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

template <class Function>
std::string fault_of(Function function) {
  try {
    function();
  } catch (const Fault& f) {
    return f.message;
  }
  return "no fault";
}

TEST(Config, KeepsTheBitsThatHaveAName) {  // values read back on ttsim
  Config c;
  c.write(0, 0, ~0x4200u);
  EXPECT_EQ(c.read(0, 0), 0x3DFFu);
  c.write(0, 71, ~0u);
  EXPECT_EQ(c.read(0, 71), 0xFFDFFFFFu);
  c.write(0, 220, ~0u);
  EXPECT_EQ(c.read(0, 220), 0xFu);
  c.write(0, 65, ~0u);
  EXPECT_EQ(c.read(0, 65), ~0u);
}

TEST(Config, BanksAreSeparateBelowWord180) {
  Config c;
  c.write(1, 76, 5);
  EXPECT_EQ(c.read(0, 76), 0u);
  c.write(1, 220, 5);
  EXPECT_EQ(c.read(0, 220), 5u);
  c.write_thread(2, 0, 1);
  EXPECT_EQ(c.bank(2)[76], 5u);
  EXPECT_EQ(c.bank(1)[76], 0u);
}

TEST(Config, RefusesWordsAndFieldsThatAreNotModelled) {
  Config c;
  EXPECT_THAT(fault_of([&] { c.write(0, 66, 0); }), testing::HasSubstr("configuration word 66 is not modelled"));
  EXPECT_THAT(fault_of([&] { c.read(0, 20); }), testing::HasSubstr("configuration word 20 cannot be read"));
  EXPECT_THAT(fault_of([&] { c.write(0, 1, 1); }), testing::HasSubstr("ALU_ROUNDING_MODE_Fpu_srnd_en (word 1) is 0x1"));
  EXPECT_THAT(fault_of([&] { c.write_thread(0, 11, 0); }), testing::HasSubstr("SETC16 register 11"));
  EXPECT_THAT(fault_of([&] { c.write(0, 224, 0); }), testing::HasSubstr("configuration word 224"));
}

}  // namespace
}  // namespace baretile::sim
