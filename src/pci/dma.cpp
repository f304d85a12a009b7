#include "pci/dma.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "baretile/error.h"

namespace baretile::pci {

static constexpr size_t kPageBytes = 4096, kHugePageBytes = 2 << 20;

HostPages::HostPages(const Sys& sys, size_t bytes) : sys_(sys), bytes_(round_up(bytes, kPageBytes)) {
  if (bytes == 0) throw UsageError("a DMA buffer of 0 bytes was asked for");
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void* p = MAP_FAILED;
  if (bytes > kPageBytes)
    p = sys.mmap(round_up(bytes, kHugePageBytes), PROT_READ | PROT_WRITE, kFlags | MAP_HUGETLB, -1, 0);
  if (p != MAP_FAILED)
    bytes_ = round_up(bytes, kHugePageBytes);
  else
    p = sys.mmap(bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (p == MAP_FAILED) throw_errno(fmt::format("map {} bytes of", bytes_), "host memory", "free some memory");
  data_ = static_cast<std::byte*>(p);
  // A child that writes would otherwise leave us with a copy at another physical address.
  madvise(data_, bytes_, MADV_DONTFORK);
}

HostPages::~HostPages() { sys_.munmap(data_, bytes_); }

// src: the kernel's Documentation/admin-guide/mm/pagemap.rst: a 64-bit entry a page, bits 0-54 the frame number, bit 63
// present.
u64 HostPages::physical_address() const {
  const File pagemap(sys_, "/proc/self/pagemap", O_RDONLY, "run as root");
  std::vector<u64> entries(bytes_ / kPageBytes);
  const size_t size = entries.size() * sizeof(u64);
  const off_t at = off_t(reinterpret_cast<uintptr_t>(data_) / kPageBytes * sizeof(u64));
  if (sys_.pread(pagemap.fd(), entries.data(), size, at) != ssize_t(size))
    throw_errno("read", pagemap.path(), "run as root");
  constexpr u64 kFrame = (1ull << 55) - 1;
  for (size_t i = 0; i < entries.size(); i++)
    if ((entries[i] & kFrame) != (entries[0] & kFrame) + i || (entries[i] & kFrame) == 0)
      throw SystemError(
          fmt::format("a DMA buffer of {} bytes does not lie in one piece of physical memory; reserve huge pages with "
                      "'sysctl vm.nr_hugepages=8', keep the buffer within {} bytes, or use tt-kmd with an IOMMU",
                      bytes_, kHugePageBytes),
          pagemap.path());
  return (entries[0] & kFrame) * kPageBytes;
}

}  // namespace baretile::pci
