#include "files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "baretile/error.h"
#include "files/new_file.h"

namespace baretile {
namespace {

using nlohmann::json;
constexpr u64 kMaxHeader = 100'000'000;  // the reference implementation's limit

[[noreturn]] void damaged(const std::string& path, const std::string& complaint) {
  throw UsageError(fmt::format("{}: {}; the file is damaged or incomplete, fetch it again", path, complaint));
}

u64 header_bytes(const MappedFile& file) {
  u64 length = 0;
  const u64 size = file.bytes().size();
  if (size < sizeof length) damaged(file.path(), fmt::format("{} bytes are too few for a safetensors file", size));
  std::memcpy(&length, file.bytes().data(), sizeof length);
  if (length > kMaxHeader || length > size - sizeof length)
    damaged(file.path(), fmt::format("the header claims {} bytes of a file of {}", length, size));
  return length;
}

StoredType stored_type(const std::string& dtype, const std::string& where) {
  for (const StoredTypeInfo& info : kStoredTypes)
    if (info.block_elements == 1 && dtype == info.name) return info.type;
  throw UsageError(fmt::format(
      "{} has dtype {}; only F32, F16, BF16, I32, U32 and BOOL are read: convert it to one of them", where, dtype));
}

u64 unsigned_number(const json& value, const std::string& where) {
  if (!value.is_number_unsigned())
    throw UsageError(fmt::format("{} has {} for a size; fetch the file again", where, value.dump()));
  return value.get<u64>();
}

// One entry of the header: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
StoredTensor read_entry(const json& entry, std::span<const std::byte> data, const std::string& where) {
  StoredTensor tensor;
  tensor.type = stored_type(entry.at("dtype").get<std::string>(), where);
  for (const json& dimension : entry.at("shape").get_ref<const json::array_t&>())
    tensor.shape.push_back(unsigned_number(dimension, where));
  const json::array_t& offsets = entry.at("data_offsets").get_ref<const json::array_t&>();
  if (offsets.size() != 2)
    throw UsageError(fmt::format("{} has {} data offsets, not 2; fetch the file again", where, offsets.size()));
  const u64 begin = unsigned_number(offsets.at(0), where), end = unsigned_number(offsets.at(1), where);
  const bool empty = std::ranges::find(tensor.shape, 0u) != tensor.shape.end();
  const u64 bytes = empty ? 0 : stored_bytes(tensor.type, tensor.shape, where);
  if (begin > end || end > data.size() || end - begin != bytes)
    throw UsageError(fmt::format("{} takes {} bytes, but its data are bytes {} to {} of {}; fetch the file again",
                                 where, bytes, begin, end, data.size()));
  tensor.data = data.subspan(begin, bytes);
  return tensor;
}

// The data are used once and without holes, as the format demands.
void check_cover(const TensorMap& tensors, std::span<const std::byte> data, const std::string& path) {
  std::vector<std::span<const std::byte>> parts;
  for (const auto& [name, tensor] : tensors) parts.push_back(tensor.data);
  std::ranges::sort(parts, {}, [](const auto& part) { return std::pair(part.data(), part.size()); });
  const std::byte* at = data.data();
  for (const auto& part : parts) {
    if (part.data() != at)
      damaged(path, fmt::format("tensors overlap or leave a hole at data byte {}", at - data.data()));
    at += part.size();
  }
  if (at != data.data() + data.size())
    damaged(path, fmt::format("{} bytes of data belong to no tensor", data.data() + data.size() - at));
}

std::string header_text(const json& header, const std::string& path) {
  try {
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const json::exception& error) {
    throw UsageError(fmt::format("{}: a name is no UTF-8 ({}); give another", path, error.what()));
  }
}

}  // namespace

Safetensors::Safetensors(const std::string& path) : file_(path) {
  const u64 length = header_bytes(file_);
  const char* text = reinterpret_cast<const char*>(file_.bytes().data()) + sizeof(u64);
  const auto data = file_.bytes().subspan(sizeof(u64) + length);
  try {
    const json header = json::parse(text, text + length);
    for (const auto& [name, entry] : header.get_ref<const json::object_t&>()) {
      if (name == "__metadata__")
        metadata_ = entry.get<std::map<std::string, std::string>>();
      else
        tensors_.emplace(name, read_entry(entry, data, fmt::format("{}: tensor '{}'", path, name)));
    }
  } catch (const json::exception& error) {
    damaged(path, fmt::format("the header is not what safetensors prescribes ({})", error.what()));
  }
  check_cover(tensors_, data, path);
}

void write_safetensors(const std::string& path, std::vector<NewStoredTensor> tensors) {
  const auto order = [](const NewStoredTensor& tensor) {
    return std::tuple(-i64(stored_type_info(tensor.type).block_bytes), tensor.type, tensor.name);
  };
  std::ranges::sort(tensors, {}, order);
  json header = {{"__metadata__", {{"format", "pt"}}}};  // without which transformers does not read it
  u64 at = 0;
  for (const NewStoredTensor& tensor : tensors) {
    if (header.contains(tensor.name))
      throw UsageError(fmt::format("{}: the name '{}' is taken; give another", path, tensor.name));
    u64 bytes = stored_type_info(tensor.type).block_bytes;
    for (const u64 extent : tensor.shape) bytes *= extent;
    header[tensor.name] = {
        {"dtype", stored_type_info(tensor.type).name}, {"shape", tensor.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  const std::string text = header_text(header, path);
  const u64 length = text.size();
  NewFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  for (const NewStoredTensor& tensor : tensors) file.write(tensor.data());
  file.commit();
}

}  // namespace baretile
