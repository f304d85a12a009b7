#include "files/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "baretile/error.h"

namespace baretile {
namespace {

[[noreturn]] void fail(const std::string& path, const char* call, int error) {
  throw SystemError(
      fmt::format("{}: {} failed: {}; give a file that exists and can be read", path, call, std::strerror(error)),
      path, error);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path, "open", errno);
  struct stat status {};
  void* at = MAP_FAILED;
  int error = ::fstat(file, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
  if (error == 0 && status.st_size > 0) {
    at = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED) error = errno;
  }
  ::close(file);  // the mapping outlives the descriptor
  if (error != 0) fail(path, "mapping a regular file", error);
  if (status.st_size > 0) bytes_ = {static_cast<const std::byte*>(at), static_cast<size_t>(status.st_size)};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace baretile
