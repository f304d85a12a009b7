// tt-kmd's side of the system calls: a card of plain memory whose windows really move, and a record of what was asked
// of it. Struct offsets are written as numbers from tt-kmd's ioctl.h, so that a wrong struct in src/pci shows.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "baretile/error.h"
#include "pci/kmd.h"

namespace baretile {

class KmdStandIn {
 public:
  struct Configured {
    u32 id;
    u64 addr;
    u32 x_end, y_end, x_start, y_start, noc, mcast, ordering, linked, static_vc;
  };
  struct Region {  // one window's view
    u64 bytes = 0, offset_uncached = 0, offset_combined = 0;
    std::set<void*> mapped;
  };

  u16 vendor = 0x1E52, device = 0xB140;
  u64 bar0_bytes = 512u << 20, bar2_bytes = 1 << 20, bar4_bytes = 32ull << 30;
  int open_errno = 0;
  std::map<u32, int> ioctl_errno;  // ioctl number -> what it fails with
  u32 config_word0 = 0xB1401E52;

  std::vector<u32> ioctls;  // numbers, in order
  std::vector<Configured> configured;
  std::map<u32, Region> windows;  // by id, while allocated
  std::vector<off_t> mapped_offsets;
  std::vector<std::pair<u64, u64>> pinned, unpinned;  // address, bytes
  int open_files = 0;

  KmdStandIn() : memory_(memfd_create("card", MFD_CLOEXEC)) {}
  ~KmdStandIn() { ::close(memory_); }
  KmdStandIn(const KmdStandIn&) = delete;

  // What a core of the tile would see; the chip's memory is made of 2 MiB pieces, DRAM of 4 GiB ones.
  void poke(u32 x, u32 y, u64 addr, u32 value) { pwrite(memory_, &value, 4, where(x, y, addr)); }
  u32 peek(u32 x, u32 y, u64 addr) {
    u32 value = 0;
    pread(memory_, &value, 4, where(x, y, addr));
    return value;
  }

  pci::Sys sys() {
    pci::Sys s = pci::real_sys();
    s.open = [this](const char* path, int) { return open(path); };
    s.close = [this](int) { return --open_files, 0; };
    s.ioctl = [this](int, unsigned long request, void* argument) {
      return ioctl(request, static_cast<std::byte*>(argument));
    };
    s.mmap = [this](size_t bytes, int protection, int flags, int fd, off_t offset) {
      return map(bytes, protection, flags, fd, offset);
    };
    s.pread = [this](int, void* to, size_t bytes, off_t offset) -> ssize_t {
      std::memset(to, 0, bytes);
      if (offset == 0) std::memcpy(to, &config_word0, std::min<size_t>(bytes, 4));
      return ssize_t(bytes);
    };
    return s;
  }

 private:
  static constexpr u64 kSmall = 2 << 20, kLarge = 4ull << 30;

  template <class T>
  static T get(const std::byte* at, size_t offset) {
    T value;
    std::memcpy(&value, at + offset, sizeof value);
    return value;
  }
  template <class T>
  static void put(std::byte* at, size_t offset, T value) {
    std::memcpy(at + offset, &value, sizeof value);
  }

  off_t where(u32 x, u32 y, u64 addr) {
    const u64 size = x >= 17 ? kLarge : kSmall;
    return backing(x, y, addr / size * size) + off_t(addr % size);
  }
  off_t backing(u32 x, u32 y, u64 addr) {
    const auto [entry, fresh] = backing_.try_emplace({x, y, addr}, next_);
    if (fresh) next_ += off_t(kLarge);
    if (fresh) ftruncate(memory_, next_);
    return entry->second;
  }

  int open(const std::string& path) {
    if (open_errno && path.find("tenstorrent/") != path.npos) return errno = open_errno, -1;
    return open_files++, 100;
  }

  int ioctl(unsigned long request, std::byte* a) {
    EXPECT_EQ(request >> 8, 0xFAu);
    const u32 number = request & 0xFF;
    ioctls.push_back(number);
    if (ioctl_errno.contains(number)) return errno = ioctl_errno[number], -1;
    switch (number) {
      case 0:
        return get_device_info(a);
      case 2:
        return query_mappings(a);
      case 7:
        return pin(a);
      case 10:
        return unpinned.push_back({get<u64>(a, 0), get<u64>(a, 8)}), 0;
      case 11:
        return allocate(a);
      case 12:
        return windows.erase(get<u32>(a, 0)) ? 0 : (errno = EINVAL, -1);
      case 13:
        return configure(a);
    }
    return errno = ENOTTY, -1;
  }

  int get_device_info(std::byte* a) {
    EXPECT_GE(get<u32>(a, 0), 16u) << "room for the answer";
    put<u16>(a, 8, vendor), put<u16>(a, 10, device), put<u16>(a, 16, 0x0308), put<u16>(a, 20, 1);  // 0001:03:01.0
    return 0;
  }
  int query_mappings(std::byte* a) {
    EXPECT_GE(get<u32>(a, 0), 6u);
    const u64 bytes[] = {bar0_bytes, bar0_bytes, bar2_bytes, bar2_bytes, bar4_bytes, bar4_bytes};
    for (u32 i = 0; i < 6; i++) put<u32>(a, 8 + 24 * i, i + 1), put<u64>(a, 8 + 24 * i + 16, bytes[i]);
    return 0;
  }
  int pin(std::byte* a) {
    EXPECT_EQ(get<u32>(a, 0), 16u) << "both answers";
    EXPECT_EQ(get<u32>(a, 4), 2u) << "for NoC DMA";
    pinned.push_back({get<u64>(a, 8), get<u64>(a, 16)});
    put<u64>(a, 24, 0x7000), put<u64>(a, 32, 0x1000000000000000 + 0x7000);
    return 0;
  }
  int allocate(std::byte* a) {
    const u64 bytes = get<u64>(a, 0);
    if (bytes != kSmall && (bytes != kLarge || bar4_bytes / kLarge == 0)) return errno = EINVAL, -1;
    const u32 id = next_id_++;
    windows[id] = {bytes, u64{id} << 40, (u64{id} << 40) + (1ull << 39), {}};
    put<u32>(a, 16, id), put<u64>(a, 24, windows[id].offset_uncached), put<u64>(a, 32, windows[id].offset_combined);
    return 0;
  }
  int configure(std::byte* a) {
    const Configured c{get<u32>(a, 0),  get<u64>(a, 8),  get<u16>(a, 16), get<u16>(a, 18),
                       get<u16>(a, 20), get<u16>(a, 22), get<u8>(a, 24),  get<u8>(a, 25),
                       get<u8>(a, 26),  get<u8>(a, 27),  get<u8>(a, 28)};
    if (!windows.contains(c.id)) return errno = EINVAL, -1;
    Region& w = windows[c.id];
    if (c.addr % w.bytes != 0) return errno = EINVAL, -1;
    configured.push_back(c);
    shown_[c.id] = backing(c.mcast ? 60 : c.x_end, c.y_end, c.addr);
    for (void* p : w.mapped) show(p, w.bytes, shown_[c.id]);
    return 0;
  }
  void show(void* at, u64 bytes, off_t offset) {
    ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory_, offset);
  }

  void* map(size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (fd < 0) return ::mmap(nullptr, bytes, protection, flags & ~MAP_HUGETLB, fd, 0);
    mapped_offsets.push_back(offset);
    const auto w = windows.find(u32(offset >> 40));
    if (w == windows.end() || bytes != w->second.bytes) return errno = EINVAL, MAP_FAILED;
    void* p = ::mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, memory_, shown_[w->first]);
    w->second.mapped.insert(p);
    return p;
  }

  int memory_;
  off_t next_ = 0;
  u32 next_id_ = 5;
  std::map<std::tuple<u32, u32, u64>, off_t> backing_;
  std::map<u32, off_t> shown_;
};

// The least an ARC must show for a Chip to open: a telemetry table at 0x10000000 with the given tags.
inline void poke_telemetry(KmdStandIn& card, const std::map<u32, u32>& tags) {
  card.poke(8, 0, 0x80030400 + 4 * 13, 0x10000000);
  card.poke(8, 0, 0x80030400 + 4 * 12, 0x10001000);
  card.poke(8, 0, 0x10000004, u32(tags.size()));
  u32 i = 0;
  for (const auto& [tag, value] : tags) {
    card.poke(8, 0, 0x10000008 + 4 * i, tag | i << 16);
    card.poke(8, 0, 0x10001000 + 4 * i, value);
    i++;
  }
}

}  // namespace baretile
