#include "noc/transfer.h"

#include "chip/card.h"

namespace baretile {
namespace {

struct TransferOnSimulator : OnSimulator {};

std::vector<std::byte> pattern(size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; i++) data[i] = std::byte(i * 7 + i / 251);
  return data;
}

TEST(Address, PagesGoRoundTheBanks) {
  const noc::Interleaved buffer{0x10000, 2048, 20};
  EXPECT_EQ(noc::page_address(buffer, 0, 8), (noc::DramAddress{0, 0x10000}));
  EXPECT_EQ(noc::page_address(buffer, 7, 8), (noc::DramAddress{7, 0x10000}));
  EXPECT_EQ(noc::page_address(buffer, 8, 8), (noc::DramAddress{0, 0x10800}));
  EXPECT_EQ(noc::page_address(buffer, 19, 7), (noc::DramAddress{5, 0x11000}));
  EXPECT_EQ(buffer.bytes(), 40960u);
  EXPECT_EQ(buffer.bank_bytes(8), 3 * 2048u);
}

TEST(Transfer, RefusesRangesOutsideTheBufferAndBuffersOutsideTheBank) {
  Card card;
  Chip chip = card.chip();
  const noc::Interleaved buffer{0, 2048, 4};
  std::vector<std::byte> data(8192);
  EXPECT_THROW(noc::write(chip, buffer, 1, data), UsageError);
  EXPECT_THROW(noc::read(chip, buffer, 8193, {}), UsageError);
  EXPECT_THROW(noc::read(chip, buffer, ~u64{0}, data), UsageError);
  EXPECT_THROW(noc::write(chip, {0xFF000000 - 2048, 2048, 9}, 0, data), UsageError);
  EXPECT_THROW(noc::write(chip, {0, 0, 4}, 0, {}), UsageError);
  EXPECT_NO_THROW(noc::write(chip, {0xFF000000 - 2048, 2048, 8}, 0, data));
  EXPECT_NO_THROW(noc::read(chip, buffer, 8192, {}));
}

TEST_P(TransferOnSimulator, WhatIsWrittenComesBackFromAnyOffset) {
  Chip chip = this->chip();
  const noc::Interleaved buffer{0x20000, 1088, 50};  // pages of a bfp8 tile
  const auto data = pattern(buffer.bytes());
  noc::write(chip, buffer, 0, data);
  std::vector<std::byte> back(5000);
  noc::read(chip, buffer, 777, back);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin() + 777));
  noc::write(chip, buffer, 3000, pattern(99));
  noc::read(chip, buffer, 3000, std::span(back).first(99));
  EXPECT_TRUE(std::equal(back.begin(), back.begin() + 99, pattern(99).begin()));
}

TEST_P(TransferOnSimulator, PageNineLiesInTheSecondRound) {
  Chip chip = this->chip();
  const noc::Interleaved buffer{0x20000, 2048, 16};
  const auto data = pattern(buffer.bytes());
  noc::write(chip, buffer, 0, data);
  std::vector<std::byte> page(2048);
  const u32 banks = u32(chip.dram_banks().size());
  chip.read(chip.dram_banks()[9 % banks], 0x20000 + 2048, page);
  EXPECT_TRUE(std::equal(page.begin(), page.end(), data.begin() + 9 * 2048));
}

INSTANTIATE_TEST_SUITE_P(On, TransferOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
