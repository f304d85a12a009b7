// Records and fields as PKWARE's APPNOTE.TXT, sections 4.3 and 4.4, names them.
#include "files/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "baretile/error.h"

namespace baretile {
namespace {

constexpr u32 kLocal = 0x04034B50, kCentral = 0x02014B50, kEnd = 0x06054B50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr u64 kMost = UINT32_MAX, kMostEntries = UINT16_MAX;  // which themselves say that the value is elsewhere
constexpr u64 kBestRatio = 1032;                              // of deflate, for one byte over and over
constexpr u16 kStored = 0, kDeflated = 8, kEncrypted = 1, kUtf8 = 0x800;

[[noreturn]] void damaged(const std::string& path, const std::string& complaint) {
  throw UsageError(fmt::format("{}: {}; the file is damaged or no zip archive, write it again", path, complaint));
}

[[noreturn]] void too_large(const std::string& path) {
  throw Unsupported(fmt::format(
      "{}: archives from 4 GiB or 65,535 entries on (zip64) are not done; use several files, or safetensors", path));
}

template <class T>
T load(std::span<const std::byte> record, size_t at) {
  T value;
  std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

template <class... Fields>
std::string record(Fields... fields) {
  std::string out;
  (out.append(reinterpret_cast<const char*>(&fields), sizeof fields), ...);
  return out;
}

// The end record, which a comment may follow.
std::span<const std::byte> end_record(std::span<const std::byte> file, const std::string& path) {
  if (file.size() >= kEndBytes) {
    const size_t last = file.size() - kEndBytes, first = last - std::min<size_t>(last, UINT16_MAX);
    for (size_t at = last + 1; at-- > first;) {
      if (load<u32>(file, at) == kEnd && load<u16>(file, at + 20) == last - at) return file.subspan(at);
    }
  }
  damaged(path, "it has no directory");
}

u32 checksum(std::span<const std::byte> bytes, u32 before = 0) {
  return bytes.empty() ? before : u32(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

ZipReader::ZipReader(const std::string& path) : file_(path) {
  const auto file = file_.bytes(), end = end_record(file, path);
  const u64 count = load<u16>(end, 10), bytes = load<u32>(end, 12), offset = load<u32>(end, 16);
  if (count == kMostEntries || bytes == kMost || offset == kMost) too_large(path);
  if (load<u16>(end, 4) != 0 || load<u16>(end, 6) != 0 || load<u16>(end, 8) != count)
    damaged(path, "it is one part of several");
  const u64 before = u64(end.data() - file.data());
  if (offset > before || bytes != before - offset)
    damaged(path, fmt::format("its directory claims bytes {} to {} of {}", offset, offset + bytes, before));
  data_ = file.first(offset);
  auto directory = file.subspan(offset, bytes);
  for (u64 n = 0; n < count; ++n) read_entry(directory);
  if (!directory.empty()) damaged(path, fmt::format("its directory has {} bytes too many", directory.size()));
}

void ZipReader::read_entry(std::span<const std::byte>& directory) {
  if (directory.size() < kCentralBytes || load<u32>(directory, 0) != kCentral)
    damaged(path(), fmt::format("its directory ends after {} entries", entries_.size()));
  const u16 flags = load<u16>(directory, 8), method = load<u16>(directory, 10);
  const u64 stored = load<u32>(directory, 20), bytes = load<u32>(directory, 24), at = load<u32>(directory, 42);
  const size_t name = load<u16>(directory, 28),
               all = kCentralBytes + name + load<u16>(directory, 30) + load<u16>(directory, 32);
  if (all > directory.size()) damaged(path(), fmt::format("its directory ends within entry {}", entries_.size()));
  Entry entry{std::string(reinterpret_cast<const char*>(directory.data()) + kCentralBytes, name),
              method == kDeflated,
              load<u32>(directory, 16),
              bytes,
              {}};
  directory = directory.subspan(all);
  const auto wrong = [&](const std::string& complaint) {
    damaged(path(), fmt::format("entry '{}' {}", entry.name, complaint));
  };
  if (stored == kMost || bytes == kMost || at == kMost) too_large(path());
  if (flags & kEncrypted)
    throw Unsupported(fmt::format("{}: entry '{}' is encrypted; save it without a password", path(), entry.name));
  if (method != kStored && method != kDeflated)
    throw Unsupported(
        fmt::format("{}: entry '{}' is compressed by method {}; only deflate (8) is read", path(), entry.name, method));
  if (at > data_.size() || data_.size() - at < kLocalBytes || load<u32>(data_, at) != kLocal)
    wrong(fmt::format("is not at byte {}", at));
  const u64 start = at + kLocalBytes + load<u16>(data_, at + 26) + load<u16>(data_, at + 28);
  if (start > data_.size() || stored > data_.size() - start)
    wrong(fmt::format("claims {} bytes from {} on of {}", stored, start, data_.size()));
  if (method == kStored ? bytes != stored : bytes > stored * kBestRatio)
    wrong(fmt::format("claims {} bytes made of {}", bytes, stored));
  entry.stored = data_.subspan(start, stored);
  entries_.push_back(std::move(entry));
}

std::vector<std::byte> ZipReader::read(const Entry& entry) const {
  std::vector<std::byte> out(entry.bytes);
  if (!entry.deflated) {
    std::copy(entry.stored.begin(), entry.stored.end(), out.begin());
  } else {
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw InternalError("zip: zlib does not start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(entry.stored.data()));
    stream.avail_in = uInt(entry.stored.size());
    std::byte none;  // zlib wants a place even for nothing
    stream.next_out = reinterpret_cast<Bytef*>(out.empty() ? &none : out.data());
    stream.avail_out = uInt(out.size());
    const int result = ::inflate(&stream, Z_FINISH);
    const bool whole = result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
    ::inflateEnd(&stream);
    if (!whole) damaged(path(), fmt::format("entry '{}' does not inflate to {} bytes", entry.name, entry.bytes));
  }
  if (checksum(out) != entry.crc) damaged(path(), fmt::format("entry '{}' has another checksum", entry.name));
  return out;
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> first, std::span<const std::byte> second) {
  const u64 at = file_.size(), bytes = first.size() + second.size();
  if (at + bytes >= kMost || count_ + 1 >= kMostEntries || name.size() > UINT16_MAX) too_large(name);
  constexpr u16 kVersion = 20, kTime = 0, kDate = 1 << 5 | 1;  // the first day of 1980, for equal files
  const u32 crc = checksum(second, checksum(first)), size = u32(bytes);
  const std::string common = record(kVersion, kUtf8, kStored, kTime, kDate, crc, size, size, u16(name.size()), u16(0));
  file_.write(record(kLocal));
  file_.write(common);
  file_.write(name);
  file_.write(first);
  file_.write(second);
  directory_.append(record(kCentral, kVersion)).append(common);
  directory_.append(record(u16(0), u16(0), u16(0), u32(0), u32(at))).append(name);
  ++count_;
}

void ZipWriter::commit() {
  const u64 at = file_.size();
  if (at + directory_.size() >= kMost) too_large("the archive");
  file_.write(directory_);
  file_.write(record(kEnd, u16(0), u16(0), u16(count_), u16(count_), u32(directory_.size()), u32(at), u16(0)));
  file_.commit();
}

}  // namespace baretile
