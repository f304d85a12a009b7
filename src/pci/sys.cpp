#include "pci/sys.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "baretile/error.h"

namespace baretile::pci {

Sys real_sys() {
  return {.root = {},
          .is_root = geteuid() == 0,
          .open = [](const char* path, int flags) { return ::open(path, flags | O_CLOEXEC); },
          .close = ::close,
          .ioctl = [](int fd, unsigned long request, void* argument) { return ::ioctl(fd, request, argument); },
          .mmap = [](size_t bytes, int protection, int flags, int fd,
                     off_t offset) { return ::mmap(nullptr, bytes, protection, flags, fd, offset); },
          .munmap = ::munmap,
          .pread = ::pread,
          .pwrite = ::pwrite};
}

void throw_errno(const std::string& doing, const std::string& path, const std::string& hint) {
  const int error = errno;
  throw SystemError(fmt::format("cannot {} {}: {}; {}", doing, path, std::strerror(error), hint), path, error);
}

File::File(const Sys& sys, const std::string& path, int flags, const std::string& hint)
    : sys_(&sys), path_(sys.root + path) {
  fd_ = sys.open(path_.c_str(), flags);
  if (fd_ < 0) throw_errno("open", path_, hint);
}

std::string read_line(const Sys& sys, const std::string& path) {
  const int fd = sys.open((sys.root + path).c_str(), O_RDONLY);
  if (fd < 0) return {};
  char text[256];
  const ssize_t n = sys.pread(fd, text, sizeof text, 0);
  sys.close(fd);
  const std::string line(text, size_t(std::max<ssize_t>(n, 0)));
  return line.substr(0, line.find('\n'));
}

std::vector<std::string> list_folder(const Sys& sys, const std::string& path) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(sys.root + path, none))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

u32 read_config(const Sys& sys, const std::string& pci_name, u32 offset) {
  const File file(sys, fmt::format("/sys/bus/pci/devices/{}/config", pci_name), O_RDONLY,
                  "check that sysfs is mounted");
  u32 value = 0;
  if (sys.pread(file.fd(), &value, sizeof value, offset) != sizeof value)
    throw_errno(fmt::format("read word {:#x} of", offset), file.path(), "run as root for offsets past 0x3f");
  return value;
}

// Calls step(index, word) over [0, bytes) in words of 8, 4 or 1 bytes that are aligned at the device's address.
template <class Step>
static void for_aligned_words(const volatile std::byte* device, size_t bytes, Step step) {
  const auto aligned = [&](size_t i, size_t size) {
    return bytes - i >= size && (reinterpret_cast<uintptr_t>(device) + i) % size == 0;
  };
  for (size_t i = 0; i < bytes;)
    if (aligned(i, 8))
      step(i, u64{}), i += 8;
    else if (aligned(i, 4))
      step(i, u32{}), i += 4;
    else
      step(i, u8{}), i += 1;
}

void copy_to_device(volatile std::byte* to, std::span<const std::byte> data) {
  for_aligned_words(to, data.size(), [&](size_t i, auto word) {
    std::memcpy(&word, &data[i], sizeof word);
    *reinterpret_cast<volatile decltype(word)*>(to + i) = word;
  });
#ifdef __x86_64__
  __builtin_ia32_sfence();  // empties write-combining buffers, so that this write precedes the next
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

void copy_from_device(const volatile std::byte* from, std::span<std::byte> out) {
  for_aligned_words(from, out.size(), [&](size_t i, auto word) {
    word = *reinterpret_cast<const volatile decltype(word)*>(from + i);
    std::memcpy(&out[i], &word, sizeof word);
  });
}

}  // namespace baretile::pci
