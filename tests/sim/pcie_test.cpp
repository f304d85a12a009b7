#include "sim/pcie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;
constexpr u64 kBar0 = 0x1'0000'0000, kBar4 = 0x8'0000'0000, kWindows = kBar0 + 0x1FC00000;

struct Window {
  u64 address = 0;
  u32 x = 1, y = 2, x_start = 0, y_start = 0, multicast = 0, ordering = 1;
};

void set_small(Board& board, u32 index, const Window& w) {
  const u64 page = w.address >> 21;
  const u32 words[3] = {u32(page), u32(page >> 32) | w.x << 11 | w.y << 17 | w.x_start << 23 | w.y_start << 29,
                        w.y_start >> 3 | w.multicast << 5 | w.ordering << 6};
  for (u32 k = 0; k < 3; ++k) board.chip.pcie().bar_write(kWindows + 12 * index + 4 * k, &words[k], 4);
}

TEST(Pcie, ConfigurationSpaceIsThatOfTtsim) {
  Board board;
  Pcie& pcie = board.chip.pcie();
  EXPECT_EQ(pcie.config_read(0, 0), 0xB1401E52u);
  EXPECT_EQ(pcie.config_read(1 << 3, 0), ~0u);
  EXPECT_EQ(pcie.config_read(0, 8), 0x12000000u);
  EXPECT_THAT(fault_of([&] { pcie.config_read(1, 0); }), HasSubstr("bus and function must be 0"));
  EXPECT_THAT(fault_of([&] { pcie.config_read(0, 0x40); }), HasSubstr("offset 0x40"));
}

TEST(Pcie, BarSizesReadBackFromOnes) {
  Board board;
  Pcie& pcie = board.chip.pcie();
  const u64 sizes[] = {u64{512} << 20, u64{1} << 20, u64{32} << 30};
  for (u32 k = 0; k < 3; ++k) {
    pcie.config_write(0, 0x10 + 8 * k, ~0u);
    pcie.config_write(0, 0x14 + 8 * k, ~0u);
    const u64 mask = u64{pcie.config_read(0, 0x14 + 8 * k)} << 32 | (pcie.config_read(0, 0x10 + 8 * k) & ~0xFu);
    EXPECT_EQ(~mask + 1, sizes[k]);
  }
}

TEST(Pcie, BulkAccessesNeedNoAlignment) {
  Board board;
  std::vector<u8> data(1001), back(1001);
  std::iota(data.begin(), data.end(), 3);
  set_small(board, 5, {.x = 7, .y = 9});
  board.chip.pcie().bar_write(kBar0 + 5 * 0x200000 + 0x1003, data.data(), u32(data.size()));
  board.chip.pcie().bar_read(kBar0 + 5 * 0x200000 + 0x1003, back.data(), u32(back.size()));
  EXPECT_EQ(back, data);
  EXPECT_EQ(board.tile(7, 9).l1()[0x1003], 3);
}

TEST(Pcie, LargeWindowsReachAllOfABank) {
  Board board;
  const u32 words[3] = {0, 18 | 15 << 6 | 1 << 27, 0}, value = 99;
  for (u32 k = 0; k < 3; ++k) board.chip.pcie().bar_write(kWindows + 12 * (202 + 7) + 4 * k, &words[k], 4);
  board.chip.pcie().bar_write(kBar4 + (u64{7} << 32) + 0xFFFFFFFC, &value, 4);
  EXPECT_EQ(board.read32(0xFFFFFFFC, 18, 15), 99u);
}

TEST(Pcie, AMulticastWindowWritesEveryTileOfItsRectangle) {
  Board board({.tiles = 130, .banks = 8});
  const u32 value = 0xABCD;
  set_small(board, 0, {.x = 16, .y = 11, .x_start = 1, .y_start = 2, .multicast = 1});
  board.chip.pcie().bar_write(kBar0 + 0x2000, &value, 4);
  for (u32 k = 0; k < 130; ++k) EXPECT_EQ(board.chip.tile(k).l1()[0x2000], 0xCD);
  u32 out;
  EXPECT_THAT(fault_of([&] { board.chip.pcie().bar_read(kBar0 + 0x2000, &out, 4); }),
              HasSubstr("read through multicast window"));
}

TEST(Pcie, RefusesMisuseOfWindows) {
  Board board;
  u64 out = 0;
  const auto read = [&](u64 address, u32 bytes) {
    return fault_of([&] { board.chip.pcie().bar_read(address, &out, bytes); });
  };
  set_small(board, 0, {});
  EXPECT_THAT(read(kBar0 + 0x1FFFFC, 8), HasSubstr("cross the end of window 0"));
  set_small(board, 0, {.ordering = 3});
  EXPECT_THAT(read(kBar0, 4), HasSubstr("ordering 0 to 2"));
  set_small(board, 0, {.x_start = 1});
  EXPECT_THAT(read(kBar0, 4), HasSubstr("without multicast"));
  EXPECT_THAT(read(kWindows, 4), HasSubstr("no window or modelled register"));
  EXPECT_THAT(read(0x5000, 4), HasSubstr("no window or modelled register"));
  EXPECT_THAT(fault_of([&] { board.chip.pcie().bar_write(kWindows, &out, 8); }), HasSubstr("host write of 8 bytes"));
}

u8 host[4096];

TEST(Pcie, TilesReachHostMemoryThroughBothWindowsOfThePcieTile) {
  const HostMemory callbacks{[](u64 a, void* out, u32 n) { std::memcpy(out, host + a, n); },
                             [](u64 a, const void* data, u32 n) { std::memcpy(host + a, data, n); }};
  Board board({.tiles = 120, .banks = 8}, callbacks);
  host[0x100] = 42;
  EXPECT_EQ(board.read32(0x100, 19, 24), 42u);
  EXPECT_EQ(board.read32((u64{4} << 58) + 0x100, 19, 24), 42u);
  board.write32(0x104, 7, 2, 0);
  EXPECT_EQ(host[0x104], 7);
  EXPECT_EQ(board.read32(0xFFFFFFFFFF000044, 19, 24), 0x10611002u);
  Board bare;
  EXPECT_THAT(fault_of([&] { bare.read32(0x100, 19, 24); }), HasSubstr("no DMA callback is installed"));
}

}  // namespace
}  // namespace baretile::sim
