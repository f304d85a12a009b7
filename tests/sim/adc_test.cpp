#include "sim/tensix/adc.h"

#include <gtest/gtest.h>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

TEST(Adc, SetsTheCountersItsMasksName) {
  AdcSet adc;
  execute(adc, isa::SETADCXX{.X0 = 3, .X1 = 1023, .Units = 5});
  execute(adc, isa::SETADCXY{.BitMask = 10, .Ch0X = 7, .Ch0Y = 6, .Ch1X = 5, .Ch1Y = 4, .Units = 1});
  EXPECT_EQ(adc.unit[0].channel[0].x, 3u);
  EXPECT_EQ(adc.unit[0].channel[0].y, 6u);
  EXPECT_EQ(adc.unit[0].channel[1].x, 1023u);
  EXPECT_EQ(adc.unit[0].channel[1].y, 4u);
  EXPECT_EQ(adc.unit[1].channel[1].x, 0u);
  EXPECT_EQ(adc.unit[2].channel[1].x, 1023u);
  EXPECT_EQ(adc.unit[2].channel[0].y, 0u);
}

TEST(Adc, IncrementsLeaveTheCarriageReturnValueAndReturnsUseIt) {
  AdcSet adc;
  execute(adc, isa::SETADCZW{.BitMask = 15, .Ch0X = 1, .Ch0Y = 2, .Ch1X = 3, .Ch1Y = 4, .Units = 2});
  execute(adc, isa::INCADCZW{.Ch0X = 7, .Ch1Y = 1, .Units = 2});
  EXPECT_EQ(adc.unit[1].channel[0].z, 8u);
  EXPECT_EQ(adc.unit[1].channel[0].z_cr, 1u);
  execute(adc, isa::ADDRCRZW{.BitMask = 1, .Ch0X = 2, .Units = 2});
  EXPECT_EQ(adc.unit[1].channel[0].z, 3u);
  EXPECT_EQ(adc.unit[1].channel[1].w, 5u);
}

TEST(Adc, CountersWrapAtTheirWidth) {
  AdcSet adc;
  execute(adc, isa::SETADC{.Value = 0x1FFF, .DimensionIndex = 1, .Units = 1});
  execute(adc, isa::INCADCXY{.Ch0Y = 1, .Units = 1});
  EXPECT_EQ(adc.unit[0].channel[0].y, 0u);
}

TEST(Adc, AnInstructionWithoutEffectOrForAnotherThreadIsAFault) {
  AdcSet adc;
  EXPECT_THROW(execute(adc, isa::SETADCXX{.X0 = 1}), Fault);
  EXPECT_THROW(execute(adc, isa::SETADCXY{.Units = 1}), Fault);
  EXPECT_THROW(execute(adc, isa::SETADC{.Value = 0x10000, .Units = 1}), Fault);
}

}  // namespace
}  // namespace baretile::sim
