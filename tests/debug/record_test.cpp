#include "debug/record.h"

#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "debug/linked.h"

namespace baretile::debug {
namespace {

// Sites 0, 1 and 2 of this kernel, and records made by hand as kernels/debug/print.h describes them.
const Symbols& symbols() {
  static const Symbols read = [] {
    const compiler::KernelSource source{"records", R"(#line 1 "records.cc"
#include "kernels/debug/print.h"
extern "C" void kernel_brisc(const baretile::u32* args) {
  bt_print("{} and {:.2f}", args[0], 1.0f);
  bt_assert(args[0] != 3);
  bt_print("{:.2f}", args[0]);
})"};
    return Symbols(linked_with_lines(
        compiler::build_kernels({&source, 1},
                                {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache", .search_path = {}, .debug = true})
            .front()));
  }();
  return read;
}

constexpr u32 kUnsigned = 0, kSigned = 1, kFloat = 2;
constexpr u32 head(u32 id, u32 count, u32 type0 = 0, u32 type1 = 0) {
  return id | count << 16 | type0 << 20 | type1 << 22;
}

TEST(Record, OneFollowsTheOther) {
  const u32 words[] = {head(0, 2, kSigned, kFloat),   u32(-5), 0x40490FDB, head(1, 0),
                       head(0, 2, kUnsigned, kFloat), 7,       0};
  const std::vector<Record> log = read_log(words, symbols());
  ASSERT_EQ(log.size(), 3);
  EXPECT_EQ(printed(log[0]), "-5 and 3.14");
  EXPECT_EQ(failure(log[1]), "records.cc:4: bt_assert(args[0] != 3)");
  EXPECT_EQ(printed(log[2]), "7 and 0.00");
}

TEST(Record, WhatCannotBeFormattedIsShownAsItIs) {
  const u32 words[] = {head(2, 1), 12};
  EXPECT_THAT(printed(read_log(words, symbols()).front()),
              testing::StartsWith("records.cc:5: bt_print(\"{:.2f}\") of 12: "));
}

TEST(Record, GarbageIsShownAsWords) {
  const u32 words[] = {0x0003'1234, 1, 2};
  const std::vector<Record> log = read_log(words, symbols());
  ASSERT_EQ(log.size(), 1);
  EXPECT_EQ(printed(log[0]), "a record 0x31234 of no known place, with values 1, 2");
}

}  // namespace
}  // namespace baretile::debug
