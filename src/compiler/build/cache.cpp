#include "compiler/build/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "baretile/device.h"
#include "baretile/error.h"
#include "compiler/build/embedded.h"

namespace baretile::compiler {
namespace fs = std::filesystem;
namespace {

// What precedes the code in a cache file.
struct EntryHeader {
  char magic[8] = {'b', 't', 'k', 'e', 'r', 'n', '0', '1'};
  u32 code_bytes = 0;
  std::array<u32, 5> entry{};
  std::array<u8, 32> checksum{};
};

std::array<u8, 32> checksum(const std::string& key, const std::array<u32, 5>& entry, std::span<const u8> code) {
  Sha256 sha;
  sha.add(key).add({reinterpret_cast<const char*>(entry.data()), sizeof(entry)});
  return sha.add({reinterpret_cast<const char*>(code.data()), code.size()}).digest();
}

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  throw SystemError(
      fmt::format("cannot write {} in the kernel cache: {}; set BARETILE_CACHE_DIR to a folder that you can write",
                  path.string(), std::strerror(error)),
      path.string(), error);
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_, EVP_sha256(), nullptr); }
Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

Sha256& Sha256::add(std::string_view bytes) {
  const u64 size = bytes.size();
  EVP_DigestUpdate(context_, &size, sizeof(size));
  EVP_DigestUpdate(context_, bytes.data(), bytes.size());
  return *this;
}

std::array<u8, 32> Sha256::digest() {
  std::array<u8, 32> out;
  EVP_DigestFinal_ex(context_, out.data(), nullptr);
  return out;
}

std::string Sha256::hex() {
  std::string out;
  for (const u8 byte : digest()) out += fmt::format("{:02x}", byte);
  return out;
}

fs::path cache_root() {
  if (const std::string folder = cache_folder(); !folder.empty()) return folder;
  throw SystemError(
      "no folder for the kernel cache: neither BARETILE_CACHE_DIR, XDG_CACHE_HOME nor HOME is set; set "
      "BARETILE_CACHE_DIR",
      "");
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

void FileLock::write(std::string_view text) const {
  errno = ENOSPC;
  if (ftruncate(fd_, 0) != 0 || pwrite(fd_, text.data(), text.size(), 0) != ssize_t(text.size()))
    cannot_write(path, errno);
}

void KernelCache::make_folder(const fs::path& folder) const {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot_write(folder, error.value());
}

std::optional<KernelImage> KernelCache::load(const std::string& key) const {
  const fs::path file = path(key, ".kernel");
  const std::optional<std::string> bytes = read_file(file);
  EntryHeader header;
  const EntryHeader expected;
  if (!bytes || bytes->size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes->data(), sizeof(header));
  if (std::memcmp(header.magic, expected.magic, sizeof(header.magic)) != 0) return std::nullopt;
  if (bytes->size() != sizeof(header) + header.code_bytes) return std::nullopt;
  KernelImage image;
  image.key = key;
  image.entry = header.entry;
  image.code.assign(bytes->begin() + sizeof(header), bytes->end());
  if (checksum(key, image.entry, image.code) != header.checksum) return std::nullopt;
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // fails in a read-only cache, where nothing is trimmed either
  return image;
}

void KernelCache::store(const KernelImage& image) const {
  EntryHeader header;
  header.code_bytes = u32(image.code.size());
  header.entry = image.entry;
  header.checksum = checksum(image.key, image.entry, image.code);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(image.code.data()), image.code.size());
  write_text(path(image.key, ".kernel"), bytes);
}

FileLock KernelCache::lock(const std::string& key) const {
  make_folder(folder_);
  const fs::path file = path(key, ".cc");
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) cannot_write(file, errno);
  FileLock lock(fd, file);
  int result;
  do result = flock(fd, LOCK_EX);
  while (result != 0 && errno == EINTR);
  if (result != 0)
    throw SystemError(fmt::format("cannot lock {}: {}", file.string(), std::strerror(errno)), file.string(), errno);
  return lock;
}

fs::path temporary_beside(const fs::path& file) {
  static std::atomic<u32> number{0};
  return fmt::format("{}.tmp{}-{}", file.string(), getpid(), number++);
}

std::optional<std::string> KernelCache::read_text(const std::string& name) const { return read_file(folder_ / name); }

void KernelCache::write_text(const fs::path& file, std::string_view text) const {
  make_folder(file.parent_path());
  const fs::path temporary = temporary_beside(file);
  std::ofstream out(temporary, std::ios::binary);
  out.write(text.data(), std::streamsize(text.size()));
  out.close();
  if (!out || std::rename(temporary.c_str(), file.c_str()) != 0) cannot_write(file, errno);
}

fs::path KernelCache::headers() const {
  const fs::path folder = folder_ / ("headers-" + embedded_hash().substr(0, 16));
  for (const EmbeddedFile& f : embedded_files()) {
    std::error_code error;
    if (fs::file_size(folder / f.path, error) != f.text.size() || error) write_text(folder / f.path, f.text);
  }
  return folder;
}

void KernelCache::trim(u64 bytes) const {
  struct Entry {
    fs::file_time_type used;
    fs::path path;
    u64 bytes;
  };
  std::vector<Entry> entries;
  u64 total = 0;
  std::error_code error;  // a file that another process removes meanwhile is no error
  for (const fs::directory_entry& f : fs::directory_iterator(folder_, error)) {
    if (f.path().stem().string().size() != 64 || !f.is_regular_file(error)) continue;
    const u64 size = f.file_size(error);
    if (error) continue;
    entries.push_back({f.last_write_time(error), f.path(), size});
    total += size;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (total <= bytes) break;
    fs::remove(e.path, error);
    total -= e.bytes;
  }
}

}  // namespace baretile::compiler
