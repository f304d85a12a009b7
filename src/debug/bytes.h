// Reading a file's bytes in order, with every access checked.
#pragma once
#include <fmt/format.h>

#include <cstring>
#include <span>
#include <string>

#include "baretile/bits.h"
#include "baretile/error.h"

namespace baretile::debug {

class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::span<const u8> data) : data_(data) {}

  size_t at() const { return at_; }
  size_t left() const { return data_.size() - at_; }
  Bytes part(u64 offset, u64 count) const {
    if (offset > data_.size() || count > data_.size() - offset) truncated();
    return Bytes(data_.subspan(offset, count));
  }
  void skip(u64 count) {
    if (count > left()) truncated();
    at_ += count;
  }
  template <class T>
  T take() {
    T value;
    const size_t from = at_;
    skip(sizeof(T));
    std::memcpy(&value, data_.data() + from, sizeof(T));
    return value;
  }
  u32 uleb() { return u32(leb(false)); }
  i32 sleb() { return i32(leb(true)); }
  std::string text() {
    std::string out;
    while (const char c = take<char>()) out += c;
    return out;
  }

 private:
  [[noreturn]] static void truncated() {
    throw SystemError("a linked kernel file is truncated; remove the .elf files of the kernel cache", {});
  }
  u64 leb(bool is_signed) {
    u64 value = 0;
    for (u32 shift = 0;; shift += 7) {
      const u8 byte = take<u8>();
      if (shift < 64) value |= u64(byte & 0x7F) << shift;
      if (byte & 0x80) continue;
      return is_signed && (byte & 0x40) && shift + 7 < 64 ? value | ~u64{0} << (shift + 7) : value;
    }
  }
  std::span<const u8> data_;
  size_t at_ = 0;
};

}  // namespace baretile::debug
