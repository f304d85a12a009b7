#include "models/gguf.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "baretile/error.h"

namespace baretile {
namespace {

constexpr u32 kMagic = 0x46554747;  // "GGUF"
constexpr u32 kVersion = 3;
constexpr u64 kMaxName = 65535;  // the format's own limit for keys
constexpr u32 kMaxDimensions = 4;
constexpr u64 kMaxAlignment = 1 << 20;
static_assert(std::endian::native == std::endian::little, "GGUF files are read in place");

// The file's value types, by number.
enum ValueType : u32 { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64, kValueTypes };
constexpr u64 kValueBytes[kValueTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // least bytes of one value

// Reads forward through the file; `what` names the thing being read in every complaint.
class Cursor {
 public:
  Cursor(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

  const std::string& path() const { return path_; }
  u64 position() const { return at_; }
  u64 left() const { return bytes_.size() - at_; }

  [[noreturn]] void damaged(const std::string& complaint) const {
    throw UsageError(fmt::format("{}: {}; the file is damaged or incomplete, fetch it again", path_, complaint));
  }
  template <class T>
  T number(const std::string& what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string text(const std::string& what, u64 limit) {
    const u64 length = number<u64>(what);
    if (length > limit) damaged(fmt::format("{} is {} bytes long at byte {}, more than {}", what, length, at_, limit));
    const auto raw = take(length, what);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  // A count of things that take at least `least_bytes` each, so that no allocation outgrows the file.
  u64 count(const std::string& what, u64 least_bytes) {
    const u64 value = number<u64>(what);
    if (value > left() / least_bytes)
      damaged(fmt::format("{} is {}, but only {} bytes are left at byte {}", what, value, left(), at_));
    return value;
  }

 private:
  std::span<const std::byte> take(u64 size, const std::string& what) {
    if (size > left())
      damaged(fmt::format("{} needs {} bytes at byte {}, but the file ends at {}", what, size, at_, bytes_.size()));
    const auto taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
  }

  const std::string& path_;
  std::span<const std::byte> bytes_;
  u64 at_ = 0;
};

u32 read_type(Cursor& in, const std::string& what) {
  const u32 type = in.number<u32>(what);
  if (type >= kValueTypes) in.damaged(fmt::format("{} has the unknown value type {}", what, type));
  return type;
}

i64 read_integer(Cursor& in, u32 type, const std::string& what) {
  switch (type) {
    case kU8:
      return in.number<u8>(what);
    case kI8:
      return in.number<signed char>(what);
    case kU16:
      return in.number<u16>(what);
    case kI16:
      return in.number<int16_t>(what);
    case kU32:
      return in.number<u32>(what);
    case kI32:
      return in.number<i32>(what);
    case kI64:
      return in.number<i64>(what);
    default:
      break;
  }
  const u64 value = in.number<u64>(what);
  if (value > static_cast<u64>(INT64_MAX)) in.damaged(fmt::format("{} is {}, beyond 63 bits", what, value));
  return static_cast<i64>(value);
}

bool read_bool(Cursor& in, const std::string& what) {
  const u8 value = in.number<u8>(what);
  if (value > 1) in.damaged(fmt::format("{} is {}, neither false nor true", what, value));
  return value == 1;
}

double read_real(Cursor& in, u32 type, const std::string& what) {
  return type == kF32 ? static_cast<double>(in.number<float>(what)) : in.number<double>(what);
}

template <class T, class Read>
std::vector<T> read_items(u64 count, Read read) {
  std::vector<T> items;
  items.reserve(count);
  for (u64 i = 0; i < count; ++i) items.push_back(read());
  return items;
}

Gguf::Value read_array(Cursor& in, const std::string& what) {
  const u32 type = read_type(in, what);
  if (type == kArray) in.damaged(what + " is an array of arrays, which model files do not use");
  const u64 count = in.count("the element count of " + what, kValueBytes[type]);
  if (type == kString) return read_items<std::string>(count, [&] { return in.text(what, in.left()); });
  if (type == kF32 || type == kF64) return read_items<double>(count, [&] { return read_real(in, type, what); });
  if (type == kBool) return read_items<i64>(count, [&] { return i64{read_bool(in, what)}; });
  return read_items<i64>(count, [&] { return read_integer(in, type, what); });
}

Gguf::Value read_value(Cursor& in, const std::string& what) {
  const u32 type = read_type(in, what);
  if (type == kArray) return read_array(in, what);
  if (type == kString) return in.text(what, in.left());
  if (type == kBool) return read_bool(in, what);
  if (type == kF32 || type == kF64) return read_real(in, type, what);
  return read_integer(in, type, what);
}

StoredType stored_type(const Cursor& in, u32 ggml_type, const std::string& what) {
  std::string known;
  for (const StoredTypeInfo& info : kStoredTypes) {
    if (info.ggml_type == kNone) continue;
    if (info.ggml_type == ggml_type) return info.type;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
  }
  throw UsageError(fmt::format("{}: {} has ggml type {}, which is not read; convert the model to one of {}", in.path(),
                               what, ggml_type, known));
}

struct Entry {  // a tensor's row in the file, before the place of the data is known
  std::string name;
  StoredTensor tensor;
  u64 offset;
};

Entry read_entry(Cursor& in, u64 index) {
  Entry entry{in.text(fmt::format("the name of tensor {}", index), kMaxName), {}, 0};
  const std::string what = fmt::format("tensor '{}'", entry.name);
  const u32 dimensions = in.number<u32>(what);
  if (dimensions == 0 || dimensions > kMaxDimensions)
    in.damaged(fmt::format("{} has {} dimensions, not 1 to {}", what, dimensions, kMaxDimensions));
  entry.tensor.shape.resize(dimensions);
  for (u32 i = 0; i < dimensions; ++i)
    entry.tensor.shape[dimensions - 1 - i] = in.number<u64>(what);  // innermost first
  entry.tensor.type = stored_type(in, in.number<u32>(what), what);
  entry.offset = in.number<u64>(what);
  return entry;
}

void place(Entry& entry, const Cursor& in, std::span<const std::byte> data, u64 alignment, const std::string& path) {
  const u64 bytes =
      stored_bytes(entry.tensor.type, entry.tensor.shape, fmt::format("{}: tensor '{}'", path, entry.name));
  if (entry.offset % alignment != 0)
    in.damaged(
        fmt::format("tensor '{}' starts at offset {}, not a multiple of {}", entry.name, entry.offset, alignment));
  if (entry.offset > data.size() || bytes > data.size() - entry.offset)
    in.damaged(fmt::format("tensor '{}' takes {} bytes at offset {}, but the data are {} bytes", entry.name, bytes,
                           entry.offset, data.size()));
  entry.tensor.data = data.subspan(entry.offset, bytes);
}

void check_header(Cursor& in, const std::string& path) {
  if (in.left() < 4 || in.number<u32>("the magic") != kMagic)
    throw UsageError(fmt::format("{}: does not start with GGUF; give a .gguf model file", path));
  const u32 version = in.number<u32>("the version");
  if (version != kVersion)
    throw UsageError(
        fmt::format("{}: GGUF version {} ({:#x}), only little-endian version {} is read; convert the file again", path,
                    version, version, kVersion));
}

}  // namespace

Gguf::Gguf(const std::string& path) : file_(path) {
  Cursor in(file_.path(), file_.bytes());
  check_header(in, path);
  const u64 tensor_count = in.count("the tensor count", 8 + 4 + 8 + 4 + 8);
  const u64 key_count = in.count("the metadata count", 8 + 4 + 1);
  for (u64 i = 0; i < key_count; ++i) {
    std::string key = in.text(fmt::format("metadata key {}", i), kMaxName);
    Value value = read_value(in, fmt::format("metadata '{}'", key));
    if (!metadata_.emplace(key, std::move(value)).second) in.damaged(fmt::format("metadata '{}' is there twice", key));
  }
  std::vector<Entry> entries;
  for (u64 i = 0; i < tensor_count; ++i) entries.push_back(read_entry(in, i));

  const i64 alignment = has("general.alignment") ? integer("general.alignment") : 32;
  if (alignment < 1 || static_cast<u64>(alignment) > kMaxAlignment || !std::has_single_bit(static_cast<u64>(alignment)))
    in.damaged(fmt::format("general.alignment is {}, not a power of two up to {}", alignment, kMaxAlignment));
  const u64 data_start = round_up(in.position(), static_cast<u64>(alignment));
  const auto data = file_.bytes().subspan(std::min<u64>(data_start, file_.bytes().size()));
  for (Entry& entry : entries) {
    place(entry, in, data, static_cast<u64>(alignment), path);
    if (!tensors_.emplace(entry.name, std::move(entry.tensor)).second)
      in.damaged(fmt::format("tensor '{}' is there twice", entry.name));
  }
}

template <class T>
const T& Gguf::get(std::string_view key, const char* kind) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end())
    throw UsageError(
        fmt::format("{}: no metadata '{}'; this file lacks what the model needs, give another", path(), key));
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw UsageError(fmt::format("{}: metadata '{}' is not {}; convert the model again", path(), key, kind));
}

bool Gguf::boolean(std::string_view key) const { return get<bool>(key, "a boolean"); }
i64 Gguf::integer(std::string_view key) const { return get<i64>(key, "an integer"); }
double Gguf::real(std::string_view key) const { return get<double>(key, "a real number"); }
const std::string& Gguf::text(std::string_view key) const { return get<std::string>(key, "a string"); }
const std::vector<i64>& Gguf::integers(std::string_view key) const {
  return get<std::vector<i64>>(key, "an array of integers");
}
const std::vector<std::string>& Gguf::texts(std::string_view key) const {
  return get<std::vector<std::string>>(key, "an array of strings");
}

}  // namespace baretile
