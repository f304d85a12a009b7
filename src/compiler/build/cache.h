// The kernel cache on disk: one checksummed file a kernel, named by the hash of everything that went into it.
#pragma once
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "baretile/program.h"

struct evp_md_ctx_st;

namespace baretile::compiler {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& add(std::string_view bytes);  // with its length, so that parts cannot run into each other
  std::array<u8, 32> digest();
  std::string hex();

 private:
  evp_md_ctx_st* context_;
};

// $BARETILE_CACHE_DIR, else $XDG_CACHE_HOME/baretile, else ~/.cache/baretile.
std::filesystem::path cache_root();

// A name for what will be renamed to `file`, unlike that of any other process or thread.
std::filesystem::path temporary_beside(const std::filesystem::path& file);

// Holds an exclusive lock on a file until destroyed.
class FileLock {
 public:
  FileLock(int fd, std::filesystem::path path) : path(std::move(path)), fd_(fd) {}
  ~FileLock();
  FileLock(FileLock&& other) noexcept : path(std::move(other.path)), fd_(std::exchange(other.fd_, -1)) {}
  void write(std::string_view text) const;  // in place: a rename would leave the lock on a file that nobody finds
  const std::filesystem::path path;

 private:
  int fd_;
};

class KernelCache {
 public:
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path(const std::string& key, const char* extension) const {
    return folder_ / (key + extension);
  }

  // A whole entry, or nothing: a torn or damaged file counts as missing. Marks the entry as used.
  std::optional<KernelImage> load(const std::string& key) const;
  void store(const KernelImage& image) const;
  // Waits for other processes that build the same kernel. The lock is on the kernel's source file, which stays for
  // people to read.
  FileLock lock(const std::string& key) const;

  // Small text files beside the kernels, such as the compiler's version.
  std::optional<std::string> read_text(const std::string& name) const;
  void write_text(const std::filesystem::path& file, std::string_view text) const;
  // The folder that kernels are compiled against, made when it is missing or incomplete.
  std::filesystem::path headers() const;

  // Removes the entries that were not used for longest until at most `bytes` remain.
  void trim(u64 bytes) const;

 private:
  void make_folder(const std::filesystem::path& folder) const;
  std::filesystem::path folder_;
};

}  // namespace baretile::compiler
