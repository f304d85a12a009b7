#include "pci/dma.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "baretile/error.h"

namespace baretile {
namespace {

// A kernel with `frames` for the buffer's pages, and huge pages or not.
struct Kernel {
  bool huge_pages = false;
  std::vector<u64> frames{};
  std::vector<int> flags{};
  off_t pagemap_offset = 0;

  pci::Sys sys() {
    pci::Sys s = pci::real_sys();
    s.mmap = [this](size_t bytes, int protection, int map_flags, int fd, off_t offset) {
      flags.push_back(map_flags);
      if ((map_flags & MAP_HUGETLB) && !huge_pages) return errno = ENOMEM, MAP_FAILED;
      return ::mmap(nullptr, bytes, protection, map_flags & ~MAP_HUGETLB, fd, offset);
    };
    s.pread = [this](int, void* to, size_t bytes, off_t offset) {
      pagemap_offset = offset;
      for (size_t i = 0; i < bytes / 8; i++) {
        const u64 entry = 1ull << 63 | (i < frames.size() ? frames[i] : frames[0] + i);
        std::memcpy(static_cast<std::byte*>(to) + 8 * i, &entry, 8);
      }
      return ssize_t(bytes);
    };
    return s;
  }
};

TEST(HostPages, OnePageNeedsNoHugePage) {
  Kernel kernel{.frames = {0x1234}};
  const pci::Sys sys = kernel.sys();
  const pci::HostPages pages(sys, 100);
  EXPECT_EQ(pages.bytes().size(), 4096u);
  EXPECT_EQ(kernel.flags.size(), 1u);
  EXPECT_EQ(kernel.flags[0] & MAP_HUGETLB, 0);
  EXPECT_EQ(pages.physical_address(), 0x1234000u);
  EXPECT_EQ(kernel.pagemap_offset, off_t(u64(pages.bytes().data()) / 4096 * 8));
}

TEST(HostPages, MoreThanOnePageTakesAHugePageWhenThereIsOne) {
  Kernel kernel{.huge_pages = true, .frames = {0x200}};
  const pci::Sys sys = kernel.sys();
  const pci::HostPages pages(sys, 5000);
  EXPECT_EQ(pages.bytes().size(), 2u << 20);
  EXPECT_EQ(pages.physical_address(), 0x200000u);
}

TEST(HostPages, ScatteredPagesHaveNoPhysicalAddress) {
  Kernel kernel{.frames = {0x200, 0x300}};
  const pci::Sys sys = kernel.sys();
  const pci::HostPages pages(sys, 8192);
  EXPECT_THROW(pages.physical_address(), SystemError);
}

TEST(HostPages, AFrameOfZeroMeansTheKernelHidesIt) {
  Kernel kernel{.frames = {0}};
  const pci::Sys sys = kernel.sys();
  const pci::HostPages pages(sys, 1);
  EXPECT_THROW(pages.physical_address(), SystemError);
}

TEST(HostPages, ZeroBytesAreTheCallersMistake) {
  const pci::Sys sys = pci::real_sys();
  EXPECT_THROW(pci::HostPages(sys, 0), UsageError);
}

}  // namespace
}  // namespace baretile
