// The system calls a card needs, as a table, so that tests can stand in for the kernel and see each ioctl and mapping.
#pragma once
#include <fcntl.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "baretile/device.h"

namespace baretile::pci {

struct Sys {
  std::string root;  // before every path; empty outside tests
  bool is_root = false;
  std::function<int(const char* path, int flags)> open;
  std::function<int(int fd)> close;
  std::function<int(int fd, unsigned long request, void* argument)> ioctl;
  std::function<void*(size_t bytes, int protection, int flags, int fd, off_t offset)> mmap;  // MAP_FAILED and errno
  std::function<int(void* at, size_t bytes)> munmap;
  std::function<ssize_t(int fd, void* to, size_t bytes, off_t offset)> pread;
  std::function<ssize_t(int fd, const void* from, size_t bytes, off_t offset)> pwrite;
};

Sys real_sys();

// A descriptor that closes itself; `what` and `hint` go into the SystemError when the file does not open.
class File {
 public:
  File(const Sys& sys, const std::string& path, int flags, const std::string& hint);
  ~File() { sys_->close(fd_); }
  File(const File&) = delete;
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  const Sys* sys_;
  std::string path_;
  int fd_;
};

// One line of a small file under sys.root, without its newline; empty when it cannot be read.
std::string read_line(const Sys& sys, const std::string& path);
// Names in a folder under sys.root, sorted; empty when there is no such folder.
std::vector<std::string> list_folder(const Sys& sys, const std::string& path);

// PCI configuration space through sysfs, open to everyone for the first 64 bytes.
u32 read_config(const Sys& sys, const std::string& pci_name, u32 offset);

// Copies with aligned volatile accesses of up to 8 bytes: device memory must not see the overlapping or repeated ones
// of memcpy.
void copy_to_device(volatile std::byte* to, std::span<const std::byte> data);
void copy_from_device(const volatile std::byte* from, std::span<std::byte> out);

[[noreturn]] void throw_errno(const std::string& doing, const std::string& path, const std::string& hint);

}  // namespace baretile::pci
