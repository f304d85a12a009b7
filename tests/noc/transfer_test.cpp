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

TEST(Address, RunsOfFourPagesGoRoundTheBanks) {
  const noc::Interleaved buffer{0x10000, 2048, 70};
  EXPECT_EQ(noc::page_address(buffer, 0, 8), (noc::DramAddress{0, 0x10000}));
  EXPECT_EQ(noc::page_address(buffer, 3, 8), (noc::DramAddress{0, 0x11800}));
  EXPECT_EQ(noc::page_address(buffer, 30, 8), (noc::DramAddress{7, 0x11000}));
  EXPECT_EQ(noc::page_address(buffer, 33, 8), (noc::DramAddress{0, 0x12800}));
  EXPECT_EQ(noc::page_address(buffer, 30, 7), (noc::DramAddress{0, 0x13000}));
  EXPECT_EQ(buffer.bytes(), 143360u);
  EXPECT_EQ(buffer.bank_bytes(8), 12 * 2048u) << "64 pages are two rounds; six more are a run and a half";
  EXPECT_EQ(buffer.bank_bytes(7), 12 * 2048u);
  EXPECT_EQ((noc::Interleaved{0, 2048, 3}.bank_bytes(8)), 3 * 2048u);
}

TEST(Address, ARunMayBeOfAnyLength) {
  const noc::Interleaved buffer{0x10000, 2048, 19 * 18, 18};
  EXPECT_EQ(noc::page_address(buffer, 17, 8), (noc::DramAddress{0, 0x10000 + 17 * 2048}));
  EXPECT_EQ(noc::page_address(buffer, 18, 8), (noc::DramAddress{1, 0x10000}));
  EXPECT_EQ(noc::page_address(buffer, 18 * 9 + 5, 8), (noc::DramAddress{1, 0x10000 + (18 + 5) * 2048}));
  EXPECT_EQ(buffer.bank_bytes(8), 3 * 18 * 2048u) << "banks 0 to 2 have three of the nineteen";
}

TEST(Transfer, RefusesRangesOutsideTheBufferAndBuffersOutsideTheBank) {
  Card card;
  Chip chip = card.chip();
  const noc::Interleaved buffer{0, 2048, 4};
  std::vector<std::byte> data(8192);
  EXPECT_THROW(noc::write(chip, buffer, 1, data), UsageError);
  EXPECT_THROW(noc::read(chip, buffer, 8193, {}), UsageError);
  EXPECT_THROW(noc::read(chip, buffer, ~u64{0}, data), UsageError);
  EXPECT_THROW(noc::write(chip, {0xFF000000 - 4 * 2048, 2048, 33}, 0, data), UsageError);
  EXPECT_THROW(noc::write(chip, {0, 0, 4}, 0, {}), UsageError);
  EXPECT_NO_THROW(noc::write(chip, {0xFF000000 - 4 * 2048, 2048, 32}, 0, data));
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

TEST_P(TransferOnSimulator, PageThirtyFiveLiesInTheSecondRound) {
  Chip chip = this->chip();
  const noc::Interleaved buffer{0x20000, 2048, 36};
  const auto data = pattern(buffer.bytes());
  noc::write(chip, buffer, 0, data);
  std::vector<std::byte> page(2048);
  const u32 banks = u32(chip.dram_banks().size());
  chip.read(chip.dram_banks()[8 % banks], 0x20000 + 7 * 2048, page);
  EXPECT_TRUE(std::equal(page.begin(), page.end(), data.begin() + 35 * 2048));
}

INSTANTIATE_TEST_SUITE_P(On, TransferOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
