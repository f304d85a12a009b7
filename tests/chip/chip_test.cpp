#include "chip/card.h"
#include "noc/multicast.h"

namespace baretile {
namespace {

struct ChipOnSimulator : OnSimulator {};

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Chip, ACardThatLeftTheBusIsToldApart) {
  Card card;
  card.config_word0 = 0xFFFFFFFF;
  EXPECT_THAT(message_of<DeviceError>([&] { card.chip(); }), HasSubstr("answers PCI id 0xffffffff"));
}

TEST(Chip, OpensThroughTheDriverWithFewCalls) {
  Card card;
  const Chip chip = card.chip();
  EXPECT_FALSE(chip.simulated());
  EXPECT_EQ(card.windows.size(), 2u) << "ARC registers and ARC memory";
}

TEST(Chip, MayBeMoved) {
  Card card;
  Chip first = card.chip();
  Chip second = std::move(first);
  EXPECT_EQ(second.clock_mhz(), 800u);
}

TEST(WaitUntil, EndsAtOnceWhenItHoldsAlready) {
  Card card;
  Chip chip = card.chip();
  int asked = 0;
  chip.wait_until("nothing", 0ms, [&] { return ++asked > 0; });
  EXPECT_EQ(asked, 1);
}

TEST(WaitUntil, ADeadlineNamesTheWaitTheDeviceAndTheEvidence) {
  Card card;
  Chip chip = card.chip();
  try {
    chip.wait_until(
        "tile 3-4 to finish", 3ms, [] { return false; }, [] { return "its mailbox holds 7"; });
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "waited 3 ms for tile 3-4 to finish on kmd; its mailbox holds 7");
    EXPECT_EQ(error.waited_for, "tile 3-4 to finish");
  }
}

TEST(WaitUntil, ACardThatDiedMeanwhileIsReportedAsSuch) {
  Card card;
  Chip chip = card.chip();
  card.config_word0 = 0xFFFFFFFF;
  EXPECT_THAT(message_of<DeviceError>([&] { chip.wait_until("x", 1ms, [] { return false; }); }),
              HasSubstr("it left the bus"));
}

// li a0, 42; sw a0, 0x100(zero); j .   src: the RISC-V manual's base formats.
constexpr u32 kStore42[] = {0x02A00513, 0x10A02023, 0x0000006F};

TEST_P(ChipOnSimulator, AllTilesRunAProgramThatWasMulticast) {
  Chip chip = this->chip();
  const auto all = noc::cover(chip.tiles());
  for (const NocRect& rect : all) {
    chip.set_soft_reset(rect, 0x47800);
    chip.multicast(rect, 0, std::as_bytes(std::span(kStore42)));
    chip.multicast32(rect, 0x100, 0);
    chip.set_soft_reset(rect, 0x47800 & ~0x800u);  // BRISC, bit 11
  }
  for (const NocXY tile : chip.tiles())
    chip.wait_until("the word 42", 10s, [&] { return chip.read32(tile, 0x100) == 42; });
  for (const NocRect& rect : all) chip.set_soft_reset(rect, 0x47800);
}

TEST_P(ChipOnSimulator, OtherCoresStartWhereTheyAreTold) {
  Chip chip = this->chip();
  const NocXY tile = chip.tiles()[17];
  const u32 starts[] = {0x6000, 0x7000, 0x8000, 0x9000};
  for (u32 i = 0; i < 4; i++) {
    u32 program[] = {0x02A00513, 0x10A02023, 0x0000006F};
    program[1] = (0x100 + 4 * i) >> 5 << 25 | 0xA << 20 | 2 << 12 | ((0x100 + 4 * i) & 31) << 7 |
                 0x23;  // sw a0, 0x100 + 4i(zero)
    chip.write(tile, starts[i], std::as_bytes(std::span(program)));
    chip.write32(tile, 0x100 + 4 * i, 0);
  }
  chip.set_reset_pc({tile, tile}, starts[0], starts[1], starts[2], starts[3]);
  // TRISC0-2's registers, src: SoftReset.md; ttsim refuses to show NCRISC's.
  for (u32 i = 0; i < 3; i++) EXPECT_EQ(chip.read32(tile, 0xFFB12228 + 4 * i), starts[i]);
  chip.set_soft_reset(tile, 0x800);
  for (u32 i = 0; i < 4; i++)
    chip.wait_until("a core's word", 10s, [&] { return chip.read32(tile, 0x100 + 4 * i) == 42; });
  chip.set_soft_reset(tile, 0x47800);
}

TEST_P(ChipOnSimulator, AFaultDuringAWaitSaysWhatWasWaitedFor) {
  Chip chip = this->chip();
  const NocXY tile = chip.tiles()[0];
  chip.write32(tile, 0, 0x00100073);  // ebreak
  chip.set_soft_reset(tile, 0x47000);
  const std::string message =
      message_of<SimFault>([&] { chip.wait_until("the end of time", 5s, [] { return false; }); });
  EXPECT_THAT(message, HasSubstr("while waiting for the end of time"));
  EXPECT_THAT(message, HasSubstr("stopped in clock"));
}

// The host drives a tile's NIU to read host memory. src: NoC/MemoryMap.md; offsets as in isa/noc.h.
void read_host_memory(Chip& chip, NocXY tile, u64 noc_addr, u32 l1, u32 bytes) {
  constexpr u64 kNiu = 0xFFB20000;
  const u32 words[] = {u32(noc_addr), u32(noc_addr >> 32), 19 | 24 << 6, l1, 0, u32(tile.x | tile.y << 6)};
  chip.write(tile, kNiu, std::as_bytes(std::span(words)));
  chip.write32(tile, kNiu + 0x1C, 0x10);
  chip.write32(tile, kNiu + 0x20, bytes);
  chip.write32(tile, kNiu + 0x40, 1);
  chip.wait_until("the NIU to take the request", 1s, [&] { return chip.read32(tile, kNiu + 0x40) == 0; });
}

TEST_P(ChipOnSimulator, TilesReachDmaBuffers) {
  Chip chip = this->chip();
  const DmaBuffer other = chip.device().dma(64), buffer = chip.device().dma(4096);
  for (size_t i = 0; i < 4096; i++) buffer.bytes[i] = std::byte(i * 13);
  const NocXY tile = chip.tiles()[3];
  chip.write(tile, 0x4000, std::vector<std::byte>(256));
  read_host_memory(chip, tile, buffer.noc_addr + 256, 0x4000, 256);
  std::vector<std::byte> back(256);
  chip.wait_until("the data", 1s, [&] {
    chip.read(tile, 0x4000, back);
    return std::equal(back.begin(), back.end(), buffer.bytes.begin() + 256);
  });
  EXPECT_EQ(other.bytes[0], std::byte{0});
}

TEST_P(ChipOnSimulator, ReachingPastADmaBufferIsAFault) {
  Chip chip = this->chip();
  const DmaBuffer buffer = chip.device().dma(4096);
  const std::string message = message_of<SimFault>([&] {
    read_host_memory(chip, chip.tiles()[0], buffer.noc_addr + 4096, 0x4000, 64);
    chip.device().progress(1000);
  });
  EXPECT_THAT(message, HasSubstr("64 bytes at host address"));
}

INSTANTIATE_TEST_SUITE_P(On, ChipOnSimulator, kSimulators, simulator_name);

}  // namespace
}  // namespace baretile
