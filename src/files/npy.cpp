#include "files/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "baretile/error.h"

namespace baretile {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;

[[noreturn]] void damaged(const std::string& where, const std::string& complaint) {
  throw UsageError(fmt::format("{}: {}; the file is damaged or no .npy, write it again", where, complaint));
}

// The header's text: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Dictionary {
 public:
  Dictionary(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyArray read() {
    NpyArray out;
    u32 seen = 0;
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (next() != '\'' && next() != '"')
          throw UsageError(
              fmt::format("{}: records of several fields are not read; save each field as an array", where_));
        out.type = string();
        seen |= 1;
      } else if (key == "fortran_order") {
        out.fortran_order = boolean();
        seen |= 2;
      } else if (key == "shape") {
        out.shape = numbers();
        seen |= 4;
      } else {
        damaged(where_, fmt::format("the header has the entry '{}'", key));
      }
      if (!take(',') && next() != '}') damaged(where_, "the header's entries are not separated by commas");
    }
    if (seen != 7) damaged(where_, "the header lacks one of descr, fortran_order and shape");
    next();
    if (at_ != text_.size()) damaged(where_, "the header has more than a dictionary");
    return out;
  }

 private:
  char next() {  // which is no space; '\0' at the end
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (next() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) damaged(where_, fmt::format("the header has no '{}' at its byte {}", wanted, at_));
  }
  std::string string() {
    const char quote = next();
    if (quote != '\'' && quote != '"') damaged(where_, fmt::format("the header has no string at its byte {}", at_));
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) damaged(where_, "a string of the header has no end");
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    next();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    damaged(where_, "fortran_order is neither True nor False");
  }
  std::vector<u64> numbers() {
    std::vector<u64> out;
    expect('(');
    while (!take(')')) {
      if (next() < '0' || next() > '9') damaged(where_, "the shape is no list of whole numbers");
      u64 number = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (number > UINT64_MAX / 16) damaged(where_, "an extent of the shape is beyond 64 bits");
        number = number * 10 + u64(text_[at_] - '0');
      }
      out.push_back(number);
      if (!take(',') && next() != ')') damaged(where_, "the shape is no list of whole numbers");
    }
    return out;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

void check_type(const std::string& type, const std::string& where) {
  if (type.starts_with('>'))
    throw UsageError(fmt::format("{}: {} is big-endian; save x.astype(x.dtype.newbyteorder('<'))", where, type));
  constexpr std::string_view kRead[] = {"<f2", "<f4", "<f8", "|i1", "<i2", "<i4",
                                        "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"};
  for (const std::string_view known : kRead)
    if (type == known) return;
  throw UsageError(
      fmt::format("{}: elements of type '{}' are not read; save numbers or booleans of up to 8 bytes", where, type));
}

}  // namespace

u64 NpyArray::elements() const {
  u64 count = 1;
  for (const u64 extent : shape) count *= extent;
  return count;
}

NpyArray read_npy(std::span<const std::byte> file, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) damaged(where, "it does not begin as NumPy's arrays do");
  const size_t wide = text.size() > 6 && text[6] >= 2 ? 4 : 2, start = 8 + wide;
  if (text.size() < start) damaged(where, fmt::format("{} bytes are too few", text.size()));
  if (text[6] < 1 || text[6] > 3 || text[7] != 0)
    throw UsageError(
        fmt::format("{}: version {}.{} is not read; save it by np.save", where, u32(u8(text[6])), u32(u8(text[7]))));
  u32 length = 0;
  std::memcpy(&length, text.data() + 8, wide);
  if (length > text.size() - start)
    damaged(where, fmt::format("the header claims {} bytes of {}", length, text.size() - start));
  NpyArray out = Dictionary(text.substr(start, length), where).read();
  check_type(out.type, where);
  u64 bytes = out.element_bytes();
  for (const u64 extent : out.shape) {  // a zero anywhere makes it 0, but no product leaves 64 bits before
    if (__builtin_mul_overflow(bytes, extent, &bytes)) damaged(where, "the shape has more than 2^64 bytes");
  }
  if (bytes != text.size() - start - length)
    damaged(where, fmt::format("its shape takes {} bytes, and {} are there", bytes, text.size() - start - length));
  out.data = file.subspan(start + length);
  return out;
}

std::string npy_header(const std::string& type, const std::vector<i64>& shape) {
  std::string extents;
  for (const i64 extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.pop_back();  // (3,)
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, extents);
  const size_t unpadded = kMagic.size() + 4 + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  const size_t length = text.size();
  return std::string(kMagic) + std::string("\x01\x00", 2) + char(length & 0xFF) + char(length >> 8) + text;
}

}  // namespace baretile
