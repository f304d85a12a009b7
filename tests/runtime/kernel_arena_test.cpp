#include "runtime/kernel_arena.h"

#include <gtest/gtest.h>

#include "baretile/error.h"

namespace baretile {
namespace {

KernelImage image(const std::string& key, u32 bytes) {
  return {.name = key, .code = std::vector<u8>(bytes), .entry = {0}, .key = key};
}

TEST(KernelArena, FindsAnImageAgainByItsKey) {
  KernelArena arena;
  const auto a = arena.place(image("a", 100)), b = arena.place(image("b", 100)), again = arena.place(image("a", 100));
  EXPECT_TRUE(a->fresh && b->fresh);
  EXPECT_EQ(a->address, abi::kKernelArena);
  EXPECT_EQ(b->address, abi::kKernelArena + 128);
  EXPECT_FALSE(again->fresh);
  EXPECT_EQ(again->address, a->address);
}

TEST(KernelArena, EvictsTheOldestButNoneInUse) {
  KernelArena arena;
  const u32 third = abi::kKernelArenaBytes / 3 & ~63u;
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(arena.place(image(key, third)));
  EXPECT_FALSE(arena.place(image("d", third))) << "all three are pinned";
  arena.unpin();
  EXPECT_EQ(arena.place(image("d", third))->address, abi::kKernelArena);
  EXPECT_FALSE(arena.place(image("b", third))->fresh);
  EXPECT_FALSE(arena.place(image("c", third))->fresh);
  EXPECT_FALSE(arena.place(image("a", third))) << "it was evicted, and now its place would be b's";
  arena.unpin();
  EXPECT_TRUE(arena.place(image("a", third))->fresh);
}

TEST(KernelArena, AnImageOfTheWholeArenaFitsAlone) {
  KernelArena arena;
  ASSERT_TRUE(arena.place(image("small", 64)));
  EXPECT_FALSE(arena.place(image("whole", abi::kKernelArenaBytes)));
  arena.unpin();
  EXPECT_EQ(arena.place(image("whole", abi::kKernelArenaBytes))->address, abi::kKernelArena);
  arena.unpin();
  EXPECT_TRUE(arena.place(image("small", 64))->fresh);
}

TEST(KernelArena, RefusesImagesThatNeverFitAndImagesWithoutAKey) {
  KernelArena arena;
  EXPECT_THROW(arena.place(image("huge", abi::kKernelArenaBytes + 1)), UsageError);
  EXPECT_THROW(arena.place(image("empty", 0)), UsageError);
  EXPECT_THROW(arena.place(image("", 64)), UsageError);
}

}  // namespace
}  // namespace baretile
