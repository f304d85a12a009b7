#include "pci/kmd_stand_in.h"
#include "support/message.h"

namespace baretile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const DeviceInfo kInfo{DeviceKind::kmd, "kmd", "/dev/tenstorrent/0", "card through tt-kmd"};

void write_words(Device& device, u32 window, u32 low, u32 mid, u32 high) {
  const u32 words[] = {low, mid, high};
  for (u32 i = 0; i < 3; i++) device.write(0, 0x1FC00000 + 12 * window + 4 * i, std::as_bytes(std::span(&words[i], 1)));
}

u32 read_word(Device& device, int bar, u64 offset) {
  u32 value = 0;
  device.read(bar, offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

struct Kmd : testing::Test {
  KmdStandIn card;
  pci::Sys sys = card.sys();
  std::unique_ptr<Device> open() { return pci::open_kmd(sys, kInfo); }
};

TEST_F(Kmd, OpeningAsksForIdentityAndBarsAndAllocatesNothing) {
  const auto device = open();
  EXPECT_THAT(card.ioctls, ElementsAre(0, 2));
  EXPECT_EQ(device->bar_bytes(0), 512u << 20);
  EXPECT_EQ(device->bar_bytes(2), 1u << 20);
  EXPECT_EQ(device->bar_bytes(4), 32ull << 30);
  EXPECT_EQ(device->config_read(0), 0xB1401E52);
}

TEST_F(Kmd, TheFirstSettingOfAWindowAllocatesItAndLaterOnesOnlyMoveIt) {
  const auto device = open();
  write_words(*device, 3, 0x7FD, 1 << 11 | 2 << 17, 1 << 6);  // tile 1-2, 0xFFA00000, strict
  write_words(*device, 3, 0x7FD, 4 << 11 | 5 << 17, 1 << 6);
  EXPECT_THAT(card.ioctls, ElementsAre(0, 2, 11, 13, 13));
  ASSERT_EQ(card.configured.size(), 2u);
  const KmdStandIn::Configured& c = card.configured[0];
  EXPECT_EQ(c.addr, 0xFFA00000u);
  EXPECT_EQ(c.x_end, 1u);
  EXPECT_EQ(c.y_end, 2u);
  EXPECT_EQ(c.ordering, 1u);
  EXPECT_EQ(c.mcast | c.noc | c.linked | c.static_vc | c.x_start | c.y_start, 0u);
  EXPECT_EQ(card.configured[1].x_end, 4u);
}

TEST_F(Kmd, MulticastCornersReachTheDriver) {
  const auto device = open();
  // src: HostToDeviceTLBs.md: x_end 43, y_end 49, x_start 55, y_start 61, mcast 69, ordering 70.
  const unsigned __int128 bits = (unsigned __int128){16} << 43 | (unsigned __int128){11} << 49 |
                                 (unsigned __int128){10} << 55 | (unsigned __int128){9} << 61 |
                                 (unsigned __int128){1} << 69 | (unsigned __int128){1} << 70;
  write_words(*device, 0, u32(bits), u32(bits >> 32), u32(bits >> 64));
  const KmdStandIn::Configured& c = card.configured.at(0);
  EXPECT_EQ(c.x_end, 16u);
  EXPECT_EQ(c.y_end, 11u);
  EXPECT_EQ(c.x_start, 10u);
  EXPECT_EQ(c.y_start, 9u);
  EXPECT_EQ(c.mcast, 1u);
}

TEST_F(Kmd, MemoryIsWriteCombinedAndRegistersAreNot) {
  const auto device = open();
  write_words(*device, 0, 0, 1 << 11 | 2 << 17, 1 << 6);
  EXPECT_EQ(card.mapped_offsets.at(0), off_t(card.windows.at(5).offset_combined));
  write_words(*device, 1, 0x7FD, 1 << 11 | 2 << 17, 1 << 6);
  EXPECT_EQ(card.mapped_offsets.at(1), off_t(card.windows.at(6).offset_uncached));
}

TEST_F(Kmd, AccessesGoWhereTheWindowPoints) {
  const auto device = open();
  write_words(*device, 7, 0, 3 << 11 | 4 << 17, 1 << 6);
  const u32 value = 0xC0FFEE;
  device->write(0, 7 * 0x200000 + 0x1234, std::as_bytes(std::span(&value, 1)));
  EXPECT_EQ(card.peek(3, 4, 0x1234), 0xC0FFEEu);
  card.poke(5, 6, 0x1234, 77);
  write_words(*device, 7, 0, 5 << 11 | 6 << 17, 1 << 6);
  EXPECT_EQ(read_word(*device, 0, 7 * 0x200000 + 0x1234), 77u);
}

TEST_F(Kmd, LargeWindowsUseTheirOwnLayout) {
  const auto device = open();
  write_words(*device, 203, 0, 17 | 15 << 6, 0);  // tile 17-15, relaxed
  EXPECT_EQ(card.windows.at(5).bytes, 4ull << 30);
  EXPECT_EQ(card.configured.at(0).x_end, 17u);
  EXPECT_EQ(card.configured.at(0).y_end, 15u);
  EXPECT_EQ(card.configured.at(0).ordering, 0u);
  card.poke(17, 15, 0xFEFFFFF0, 99);
  EXPECT_EQ(read_word(*device, 4, (1ull << 32) + 0xFEFFFFF0), 99u);
}

TEST_F(Kmd, ClosingGivesBackWindowsPagesAndTheFile) {
  auto device = open();
  write_words(*device, 0, 0, 1 << 11 | 2 << 17, 1 << 6);
  write_words(*device, 202, 0, 17 | 12 << 6, 0);
  device->dma(4096);
  device.reset();
  EXPECT_TRUE(card.windows.empty());
  EXPECT_EQ(card.unpinned, card.pinned);
  EXPECT_EQ(card.open_files, 0);
}

TEST_F(Kmd, DmaPinsWholePagesAndReturnsTheDriversNocAddress) {
  const auto device = open();
  const DmaBuffer buffer = device->dma(5000);
  EXPECT_EQ(buffer.bytes.size(), 5000u);
  EXPECT_EQ(buffer.noc_addr, 0x1000000000007000u);
  ASSERT_EQ(card.pinned.size(), 1u);
  EXPECT_EQ(card.pinned[0].first, u64(buffer.bytes.data()));
  EXPECT_EQ(card.pinned[0].first % 4096, 0u);
  EXPECT_EQ(card.pinned[0].second % 4096, 0u);
  EXPECT_THROW(device->dma(0), UsageError);
}

TEST_F(Kmd, WithoutIommuThePinErrorSaysWhatToReserve) {
  const auto device = open();
  card.ioctl_errno[7] = EINVAL;
  EXPECT_THAT(message_of<SystemError>([&] { device->dma(1 << 20); }), HasSubstr("vm.nr_hugepages"));
  EXPECT_THROW(device->dma(1 << 20), SystemError);
}

TEST_F(Kmd, ACardThatIsNoBlackholeIsNamed) {
  card.device = 0x401E;
  EXPECT_THAT(message_of<Unsupported>([&] { open(); }), HasSubstr("1e52:401e, not a Blackhole"));
  EXPECT_EQ(card.open_files, 0);
}

TEST_F(Kmd, ADriverWithoutWindowsIsToldToUpdate) {
  card.ioctl_errno[11] = ENOTTY;
  const auto device = open();
  EXPECT_THAT(message_of<SystemError>([&] { write_words(*device, 0, 0, 0, 1 << 6); }),
              HasSubstr("update tt-kmd to 1.34"));
}

TEST_F(Kmd, WindowsThatOthersHoldAreReported) {
  card.ioctl_errno[11] = ENOMEM;
  const auto device = open();
  EXPECT_THAT(message_of<SystemError>([&] { write_words(*device, 0, 0, 0, 1 << 6); }), HasSubstr("end other programs"));
}

TEST_F(Kmd, NoPermissionSaysHowToGetIt) {
  card.open_errno = EACCES;
  EXPECT_THAT(message_of<SystemError>([&] { open(); }),
              HasSubstr("/dev/tenstorrent/0: Permission denied; add yourself to the group"));
}

TEST_F(Kmd, AnythingButConfiguredWindowsIsRefused) {
  const auto device = open();
  EXPECT_THROW(read_word(*device, 0, 0), UsageError) << "never configured";
  EXPECT_THROW(read_word(*device, 0, 201 * 0x200000), UsageError) << "tt-kmd's window";
  EXPECT_THROW(read_word(*device, 2, 0), UsageError);
  EXPECT_THROW(write_words(*device, 201, 0, 0, 0), UsageError);
  write_words(*device, 0, 0, 1 << 11 | 2 << 17, 1 << 6);
  EXPECT_THROW(read_word(*device, 0, 0x1FFFFE), UsageError) << "runs over the window's end";
}

}  // namespace
}  // namespace baretile
