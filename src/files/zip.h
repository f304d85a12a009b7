// Zip archives, as .npz are: stored and deflated entries are read, stored ones written. No archive or entry of 4 GiB or
// more (zip64), no encryption.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "files/mapped_file.h"
#include "files/new_file.h"

namespace baretile {

class ZipReader {
 public:
  struct Entry {
    std::string name;
    bool deflated = false;
    u32 crc = 0;
    u64 bytes = 0;                      // of the contents
    std::span<const std::byte> stored;  // as they lie in the file
  };

  explicit ZipReader(const std::string& path);  // checks every offset and size; UsageError names the file
  const std::string& path() const { return file_.path(); }
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<std::byte> read(const Entry& entry) const;  // its contents, whose checksum is right

 private:
  void read_entry(std::span<const std::byte>& directory);

  MappedFile file_;
  std::span<const std::byte> data_;  // what lies before the directory
  std::vector<Entry> entries_;
};

class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}
  // An entry of two parts, one behind the other.
  void add(const std::string& name, std::span<const std::byte> first, std::span<const std::byte> second);
  void commit();

 private:
  NewFile file_;
  std::string directory_;
  u32 count_ = 0;
};

}  // namespace baretile
