// A whole file mapped read-only: model files are read in place, so their pages cost no memory of ours.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace baretile {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws SystemError naming the path
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }  // valid as long as this object

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace baretile
