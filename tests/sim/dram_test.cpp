#include "sim/dram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;

TEST(Dram, ABankIsFourGibibytesOfZeros) {
  Dram dram;
  u8* last = dram.at(7, kDramBankBytes - 4, 4);
  EXPECT_EQ(*last, 0);
  *last = 5;
  EXPECT_EQ(*dram.at(7, kDramBankBytes - 4, 1), 5);
  EXPECT_EQ(*dram.at(6, kDramBankBytes - 4, 1), 0);
}

TEST(Dram, AnOverrunIsAFault) {
  Dram dram;
  EXPECT_THAT(fault_of([&] { dram.at(3, kDramBankBytes - 4, 8); }), HasSubstr("DRAM bank 3: 8 bytes at 0xfffffffc"));
  EXPECT_THAT(fault_of([&] { dram.at(3, ~u64{0}, 4); }), HasSubstr("BadAddress"));
}

}  // namespace
}  // namespace baretile::sim
