#include "chip/card.h"

namespace baretile {
namespace {

struct ArcOnSimulator : OnSimulator {};

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr u64 kScratch = 0x80030400, kQueue = 0x10002000;

// A message queue of 4 entries in ARC memory that nobody answers.
void poke_queue(Card& card, u32 entries) {
  card.poke(8, 0, kScratch + 4 * 2, 5);
  card.poke(8, 0, kScratch + 4 * 11, 0x10003000);
  card.poke(8, 0, 0x10003000, kQueue);
  card.poke(8, 0, 0x10003004, entries | 4 << 8);
}

TEST(Telemetry, GivesValuesByTagAndSaysWhatIsMissing) {
  Card card;
  Chip chip = card.chip();
  EXPECT_EQ(chip.clock_mhz(), 800u);
  EXPECT_EQ(chip.telemetry(TelemetryTag::firmware_bundle), 0x12050000u);
  EXPECT_EQ(chip.telemetry(TelemetryTag::timer_heartbeat), std::nullopt);
}

TEST(Telemetry, AllOnesIsUnreadableNotAValue) {
  auto tags = kFullTelemetry;
  tags[14] = 0xFFFFFFFF;
  tags[99] = 3;
  Card card(tags);
  Chip chip = card.chip();
  EXPECT_EQ(chip.clock_mhz(), std::nullopt);
  const auto table = chip.telemetry_table();
  ASSERT_EQ(table.size(), 7u);
  EXPECT_EQ(table[2].tag, 14u);
  EXPECT_EQ(table[2].name, "AI clock, MHz");
  EXPECT_FALSE(table[2].value);
  EXPECT_EQ(table[6].name, "unknown");
  EXPECT_EQ(table[6].value, 3u);
}

TEST(Telemetry, IsReadAgainEachTime) {
  Card card;
  Chip chip = card.chip();
  card.poke(8, 0, 0x10001000 + 4 * 2, 1350);
  EXPECT_EQ(chip.clock_mhz(), 1350u);
}

TEST(Telemetry, ANonsenseTableIsAnErrorWithItsSize) {
  Card card;
  card.poke(8, 0, 0x10000004, 100000);
  EXPECT_THAT(message_of<DeviceError>([&] { card.chip(); }), HasSubstr("100000 entries"));
  card.poke(8, 0, kScratch + 4 * 13, 0);
  EXPECT_THAT(message_of<DeviceError>([&] { card.chip(); }), HasSubstr("no telemetry"));
}

TEST(ArcMessage, FirmwareThatDoesNotTakeMessagesIsNamed) {
  Card card;
  Chip chip = card.chip();
  EXPECT_THAT(message_of<DeviceError>([&] { chip.arc_message(0x90, {}, 5ms); }),
              HasSubstr("waited 5 ms for the ARC firmware to take messages"));
}

TEST(ArcMessage, GoesIntoTheQueueAndAnAnswerThatNeverComesHasADeadline) {
  Card card;
  poke_queue(card, 4);
  Chip chip = card.chip();
  card.poke(8, 0, kQueue, 5);  // request write pointer, modulo 8: entry 1
  card.poke(8, 0, kQueue + 0x10, 5);
  const u32 arguments[] = {11, 12};
  EXPECT_THAT(message_of<DeviceError>([&] { chip.arc_message(0x52, arguments, 5ms); }),
              HasSubstr("the ARC's answer to message 0x52"));
  EXPECT_EQ(card.peek(8, 0, kQueue + 0x20 + 0x20), 0x52u);
  EXPECT_EQ(card.peek(8, 0, kQueue + 0x20 + 0x24), 11u);
  EXPECT_EQ(card.peek(8, 0, kQueue + 0x20 + 0x28), 12u);
  EXPECT_EQ(card.peek(8, 0, kQueue + 0x20 + 0x2C), 0u);
  EXPECT_EQ(card.peek(8, 0, kQueue), 6u);
}

TEST(ArcMessage, AFullQueueIsWaitedForByName) {
  Card card;
  poke_queue(card, 4);
  Chip chip = card.chip();
  card.poke(8, 0, kQueue, 4);  // four requests that nobody took
  EXPECT_THAT(message_of<DeviceError>([&] { chip.arc_message(0x52, {}, 5ms); }),
              HasSubstr("room in the ARC message queue"));
}

TEST(ArcMessage, AnEmptyQueueAndTooManyArgumentsAreRefused) {
  Card card;
  poke_queue(card, 0);
  Chip chip = card.chip();
  EXPECT_THROW(chip.arc_message(0x90), DeviceError);
  EXPECT_THROW(chip.arc_message(0x90, std::vector<u32>(8)), UsageError);
}

TEST_P(ArcOnSimulator, AnswersMoreMessagesThanItsQueueHolds) {
  Chip chip = this->chip();
  for (int i = 0; i < 20; i++) EXPECT_EQ(chip.arc_message(0x90)[0], 0u);
  chip.set_busy(true);
  chip.set_busy(false);
}

TEST_P(ArcOnSimulator, ReportsAClock) {
  Chip chip = this->chip();
  ASSERT_TRUE(chip.clock_mhz());
  EXPECT_GT(*chip.clock_mhz(), 0u);
}

INSTANTIATE_TEST_SUITE_P(On, ArcOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
