#include "runtime/allocator.h"

#include <gtest/gtest.h>

namespace baretile {
namespace {

TEST(BankAllocator, GivesRangesThatDoNotOverlapAndLeaveTheLowByteOfAnAddressFree) {
  BankAllocator a(4096, 8192);
  EXPECT_EQ(a.allocate(300), 4096);
  EXPECT_EQ(a.allocate(1), 4608);
  EXPECT_EQ(a.allocate(256), 4864);
  EXPECT_EQ(a.free_bytes(), 4096 - 512 - 256 - 256);
}

TEST(BankAllocator, JoinsFreedNeighbours) {
  BankAllocator a(0, 1024);
  const u64 p = a.allocate(256), q = a.allocate(256), r = a.allocate(512);
  a.release(p);
  a.release(r);
  EXPECT_THROW(a.allocate(768), OutOfMemory);
  a.release(q);
  EXPECT_EQ(a.allocate(1024), 0);
}

TEST(BankAllocator, SaysWhatIsFreeWhenABufferDoesNotFit) {
  BankAllocator a(0, 1024);
  const u64 p = a.allocate(256);
  a.allocate(256);
  a.release(p);
  try {
    a.allocate(700);
    FAIL() << "no error";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.wanted, 768);
    EXPECT_EQ(error.free, 768);
    EXPECT_EQ(error.largest, 512);
    EXPECT_NE(std::string(error.what()).find("768 bytes"), std::string::npos);
  }
  EXPECT_EQ(a.allocate(512), 512) << "the failed call took nothing";
}

TEST(BankAllocator, IgnoresWhatItDoesNotOwn) {
  BankAllocator a(0, 1024);
  a.release(512);
  EXPECT_EQ(a.free_bytes(), 1024);
}

}  // namespace
}  // namespace baretile
