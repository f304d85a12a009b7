// A file that is at its path whole or not at all: written beside it, and moved there by commit().
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "baretile/bits.h"

namespace baretile {

class NewFile {
 public:
  explicit NewFile(const std::string& path);  // throws SystemError naming the path, as the others do
  NewFile(const NewFile&) = delete;
  ~NewFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  u64 size() const { return size_; }  // written so far
  void commit();

 private:
  std::string path_, written_;
  int file_;
  u64 size_ = 0;
};

}  // namespace baretile
