#include "files/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "baretile/error.h"

namespace baretile {
namespace {

[[noreturn]] void fail(const std::string& path, const char* call) {
  const int error = errno;
  throw SystemError(fmt::format("{}: {} failed: {}; give a path in a folder that can be written and has room", path,
                                call, std::strerror(error)),
                    path, error);
}

std::string beside(const std::string& path) {
  static std::atomic<u32> count = 0;
  return fmt::format("{}.{}-{}.part", path, ::getpid(), count++);
}

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path),
      written_(beside(path)),
      file_(::open(written_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail(path_, "creating the file");
}

NewFile::~NewFile() {
  if (file_ >= 0) ::close(file_);
  if (!written_.empty()) ::unlink(written_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "writing the file");
    bytes = bytes.subspan(size_t(count));
    size_ += u64(count);
  }
}

void NewFile::commit() {
  if (::fsync(file_) != 0 || ::close(std::exchange(file_, -1)) != 0) fail(path_, "writing the file");
  if (std::rename(written_.c_str(), path_.c_str()) != 0) fail(path_, "renaming the file");
  written_.clear();
}

}  // namespace baretile
