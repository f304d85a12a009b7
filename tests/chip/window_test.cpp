#include "chip/card.h"

namespace baretile {
namespace {

struct WindowOnSimulator : OnSimulator {};

using testing::HasSubstr;

constexpr u64 kSoftReset = 0xFFB121B0;

TEST(Window, OneTileNeedsItOnce) {
  Card card;
  Chip chip = card.chip();
  const u64 before = chip.host_accesses();
  const size_t configured = card.configured.size();
  for (u32 i = 0; i < 100; i++) chip.write32({1, 2}, 4 * i, i);
  EXPECT_EQ(card.configured.size(), configured + 1);
  EXPECT_EQ(chip.host_accesses() - before, 3 + 100u) << "three register words, then one access each";
  EXPECT_EQ(card.peek(1, 2, 4 * 99), 99u);
}

TEST(Window, MemoryAndRegistersOfSomeTilesStayInReachTogether) {
  Card card;
  Chip chip = card.chip();
  const size_t before = card.configured.size();
  for (int round = 0; round < 10; round++)
    for (u8 x = 1; x <= 4; x++) {
      chip.write32({x, 2}, 0, 1);
      chip.write32({x, 2}, kSoftReset, 0x47800);
    }
  EXPECT_EQ(card.configured.size(), before + 8);
  EXPECT_EQ(card.configured[before].addr, 0u);
  EXPECT_EQ(card.configured[before + 1].addr, 0xFFA00000u);
  EXPECT_EQ(card.configured[before].ordering, 1u) << "writes to one tile arrive in order";
}

TEST(Window, ManyTilesShareFewWindowsAndStillMeanTheirOwnMemory) {
  Card card;
  Chip chip = card.chip();
  for (u32 i = 0; i < chip.tiles().size(); i++) chip.write32(chip.tiles()[i], 0x40, 1000 + i);
  for (u32 i = 0; i < chip.tiles().size(); i++) EXPECT_EQ(chip.read32(chip.tiles()[i], 0x40), 1000 + i);
  EXPECT_LE(card.windows.size(), 64u + 8u) << "other programs need windows too";
}

TEST(Window, EachDramBankHasALargeOneForGood) {
  Card card;
  Chip chip = card.chip();
  const size_t before = card.configured.size();
  for (int round = 0; round < 3; round++)
    for (u32 bank = 0; bank < 8; bank++) chip.write32(chip.dram_banks()[bank], 0xFEFFFFFC, bank + 1);
  ASSERT_EQ(card.configured.size(), before + 8);
  for (u32 bank = 0; bank < 8; bank++) {
    const auto& c = card.configured[before + bank];
    EXPECT_EQ((NocXY{u8(c.x_end), u8(c.y_end)}), (NocXY{u8(bank < 4 ? 17 : 18), u8(12 + 3 * (bank % 4))}));
    EXPECT_EQ(card.windows.at(c.id).bytes, 4ull << 30);
    EXPECT_EQ(card.peek(c.x_end, c.y_end, 0xFEFFFFFC), bank + 1);
  }
}

TEST(Window, EveryPortOfABankIsTheSameMemory) {
  Card card;
  Chip chip = card.chip();
  chip.write32({17, 13}, 0x100, 5);
  EXPECT_EQ(chip.read32({17, 12}, 0x100), 5u);
}

TEST(Window, WithoutBar4DramGoesThroughSmallOnesAndRangesAreCut) {
  for (const u64 bar4 : {u64{0}, u64{1} << 20}) {
    Card card(kFullTelemetry, bar4);
    Chip chip = card.chip();
    std::vector<std::byte> data(64);
    for (size_t i = 0; i < data.size(); i++) data[i] = std::byte(i);
    const size_t before = card.configured.size();
    chip.write({18, 15}, (3 << 21) - 20, data);
    ASSERT_EQ(card.configured.size(), before + 2);
    EXPECT_EQ(card.configured[before].addr, 2u << 21);
    EXPECT_EQ(card.configured[before + 1].addr, 3u << 21);
    std::vector<std::byte> back(64);
    chip.read({18, 15}, (3 << 21) - 20, back);
    EXPECT_EQ(back, data);
  }
}

TEST(Window, BanksThatBar4HasNoRoomForUseSmallOnes) {
  for (const u64 large : {0, 2}) {
    Card card(kFullTelemetry, large << 32);
    Chip chip = card.chip();
    for (u32 bank = 0; bank < 8; bank++) {
      chip.write32(chip.dram_banks()[bank], 0x5000000, bank);
      EXPECT_EQ(card.windows.at(card.configured.back().id).bytes, bank < large ? 4ull << 30 : 2ull << 20);
    }
    for (u32 bank = 0; bank < 8; bank++) EXPECT_EQ(chip.read32(chip.dram_banks()[bank], 0x5000000), bank);
  }
}

TEST(Window, MulticastNamesBothCorners) {
  Card card;
  Chip chip = card.chip();
  chip.multicast32({{10, 3}, {16, 11}}, 0x2000, 1);
  const auto& c = card.configured.back();
  EXPECT_EQ(c.mcast, 1u);
  EXPECT_EQ((NocXY{u8(c.x_start), u8(c.y_start)}), (NocXY{10, 3}));
  EXPECT_EQ((NocXY{u8(c.x_end), u8(c.y_end)}), (NocXY{16, 11}));
}

TEST(Window, RefusesRectanglesWithHolesOrTurnedCorners) {
  Card card;
  Chip chip = card.chip();
  EXPECT_THAT(message_of<UsageError>([&] {
                chip.multicast32({{1, 2}, {16, 11}}, 0, 1);
              }),
              HasSubstr("columns 8 and 9"));
  EXPECT_THROW(chip.multicast32({{4, 2}, {2, 3}}, 0, 1), UsageError);
  EXPECT_THROW(chip.multicast32({{1, 3}, {2, 2}}, 0, 1), UsageError);
  EXPECT_THROW(chip.multicast32({{1, 1}, {2, 2}}, 0, 1), UsageError) << "row 1 is Ethernet";
}

TEST(Window, AFenceReadsTheLastDramWriteBackOnce) {
  Card card;
  Chip chip = card.chip();
  chip.write32({1, 2}, 0, 1);
  u64 before = chip.host_accesses();
  chip.fence();
  EXPECT_EQ(chip.host_accesses(), before) << "nothing to order";
  chip.write32(chip.dram_banks()[3], 0x1000, 1);
  before = chip.host_accesses();
  chip.fence();
  chip.fence();
  EXPECT_EQ(chip.host_accesses(), before + 1);
}

TEST(Window, RefusesWhatATileDoesNotHave) {
  Card card;
  Chip chip = card.chip();
  const auto read = [&](NocXY tile, u64 addr, size_t bytes) {
    std::vector<std::byte> out(bytes);
    return message_of<UsageError>([&] { chip.read(tile, addr, out); });
  };
  EXPECT_THAT(read({8, 3}, 0, 4), HasSubstr("tile 8-3 is no Tensix, DRAM or ARC tile"));
  EXPECT_THAT(read({0, 0}, 0, 4), HasSubstr("no Tensix, DRAM or ARC tile"));
  EXPECT_THAT(read({63, 255}, 0, 4), HasSubstr("no Tensix, DRAM or ARC tile"));
  EXPECT_THAT(read({1, 2}, 0x180000 - 2, 4), HasSubstr("do not lie in its memory"));
  EXPECT_THAT(read({1, 2}, ~u64{0} - 1, 4), HasSubstr("do not lie in its memory"));
  EXPECT_THAT(read({17, 12}, 0xFF000000 - 2, 4), HasSubstr("do not lie in its memory"));
  EXPECT_THAT(read({1, 2}, kSoftReset + 1, 4), HasSubstr("whole aligned words"));
  EXPECT_THAT(read({1, 2}, kSoftReset, 2), HasSubstr("whole aligned words"));
  EXPECT_THAT(read({1, 2}, 0x180000 - 2, 2), HasSubstr("nothing was thrown"));
}

TEST_P(WindowOnSimulator, EveryTileAndBankHasItsOwnMemory) {
  Chip chip = this->chip();
  std::vector<NocXY> all = chip.tiles();
  all.insert(all.end(), chip.dram_banks().begin(), chip.dram_banks().end());
  for (u32 i = 0; i < all.size(); i++) chip.write32(all[i], 0x1000, 7000 + i);
  for (u32 i = 0; i < all.size(); i++)
    EXPECT_EQ(chip.read32(all[i], 0x1000), 7000 + i) << int(all[i].x) << '-' << int(all[i].y);
}

TEST_P(WindowOnSimulator, AnyLengthAtAnyAddressOfMemory) {
  Chip chip = this->chip();
  for (const NocXY tile : {chip.tiles()[5], chip.dram_banks()[2]})
    for (const size_t bytes : {1, 3, 4, 17, 4096, 100001}) {
      std::vector<std::byte> data(bytes), back(bytes);
      for (size_t i = 0; i < bytes; i++) data[i] = std::byte(i * 31 + bytes);
      chip.write(tile, 0x3001, data);
      chip.read(tile, 0x3001, back);
      EXPECT_EQ(back, data);
    }
}

TEST_P(WindowOnSimulator, RegistersAreAccessedWordByWord) {
  Chip chip = this->chip();
  const u32 pcs[] = {0x6000, 0x7000, 0x8000};
  chip.write(chip.tiles()[0], 0xFFB12228, std::as_bytes(std::span(pcs)));
  u32 back[3];
  chip.read(chip.tiles()[0], 0xFFB12228, std::as_writable_bytes(std::span(back)));
  EXPECT_THAT(back, testing::ElementsAreArray(pcs));
}

TEST_P(WindowOnSimulator, AFaultNamesTheTileAndTheAddress) {
  Chip chip = this->chip();
  EXPECT_THAT(message_of<SimFault>([&] {
                chip.read32({8, 0}, 0x80030500);
              }),
              HasSubstr("(reading 4 bytes at 0x80030500 of tile 8-0)"));
}

INSTANTIATE_TEST_SUITE_P(On, WindowOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
