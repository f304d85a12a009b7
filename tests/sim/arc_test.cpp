#include "sim/arc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;

u32 arc_read(Board& board, u64 address) { return board.read32(address, 8, 0); }

std::map<u32, u32> telemetry(Board& board) {
  const u32 table = arc_read(board, 0x80030434), values = arc_read(board, 0x80030430);
  std::map<u32, u32> tags;
  for (u32 k = 0; k < arc_read(board, table + 4); ++k) {
    const u32 entry = arc_read(board, table + 8 + 4 * k);
    tags[entry & 0xFFFF] = arc_read(board, values + 4 * (entry >> 16));
  }
  return tags;
}

TEST(Arc, TelemetryTellsTheGrid) {
  for (u32 tiles : {110u, 120u, 130u, 140u})
    for (u32 banks : {7u, 8u}) {
      Board board({.tiles = tiles, .banks = banks});
      const std::map<u32, u32> tags = telemetry(board);
      EXPECT_EQ(std::popcount(tags.at(34)), int(tiles / 10));
      EXPECT_EQ(std::popcount(tags.at(36)), int(banks));
    }
}

TEST(Arc, TheHarvestMaskNamesTheRawColumnsInUse) {
  Board board({.tiles = 120, .banks = 8});
  const u32 mask = telemetry(board).at(34);
  for (u32 bit = 0; bit < 14; ++bit) {
    bool used = false;
    for (u32 k = 0; k < 12; ++k)
      used |= (board.read32(isa::kNiuBase + isa::kNiuNodeId, isa::kTensixColumns[k], 2) & 63) ==
              isa::kTensixHarvestOrder[bit];
    EXPECT_EQ(mask >> bit & 1, u32(used)) << "bit " << bit;
  }
}

TEST(Arc, ValuesAreThoseOfTtsim) {
  Board board;
  const std::map<u32, u32> tags = telemetry(board);
  EXPECT_EQ(tags.at(1), 0x400u);
  EXPECT_EQ(tags.at(14), 1000u);
  EXPECT_EQ(tags.at(22), 0x5555u);
  EXPECT_EQ(tags.at(28), 0x12050000u);
  EXPECT_EQ(arc_read(board, 0x80030408), 5u);
}

// Sends one message through queue 0 as tt-kmd does and returns the first word of the answer.
u32 message(Board& board, u32 code, u64 doorbell, u32 bell) {
  const u32 block = arc_read(board, 0x8003042C), queue = arc_read(board, block),
            entries = arc_read(board, block + 4) & 0xFF;
  const u32 written = arc_read(board, queue), answered = arc_read(board, queue + 4);
  board.write32(queue + 32 + written % entries * 32, code, 8, 0);
  board.write32(queue, (written + 1) % (2 * entries), 8, 0);
  board.write32(doorbell, bell, 8, 0);
  EXPECT_EQ(arc_read(board, queue + 0x14), (answered + 1) % (2 * entries)) << "an answer is there";
  board.write32(queue + 4, (answered + 1) % (2 * entries), 8, 0);
  return arc_read(board, queue + 32 + entries * 32 + answered % entries * 32);
}

TEST(Arc, AnswersMessagesThroughBothDoorbells) {
  Board board;
  for (u32 round = 0; round < 20; ++round) {
    EXPECT_EQ(message(board, 0x58, 0x800B0000, 0), 1u);
    EXPECT_EQ(message(board, 0x52, 0x80030100, 1u << 16), 0u);
  }
  EXPECT_THAT(fault_of([&] { message(board, 0x34, 0x800B0000, 0); }), HasSubstr("NotModelled: ARC message 0x34"));
}

TEST(Arc, RegistersTakeWordsButCsmAnySize) {
  Board board;
  u8 bytes[16];
  board.chip.read(board.chip.at({8, 0}), 0x10000001, bytes, 15);
  EXPECT_THAT(fault_of([&] {
                board.chip.read(board.chip.at({8, 0}), 0x80030400, bytes, 8);
              }),
              HasSubstr("registers take aligned words"));
  EXPECT_THAT(fault_of([&] { arc_read(board, 0x80030500); }), HasSubstr("ARC register 0x80030500"));
}

}  // namespace
}  // namespace baretile::sim
