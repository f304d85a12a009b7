// What the tests of src/models share: files that vanish, the recorded vectors, and a GGUF writer of its own.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "baretile/bits.h"
#include "baretile/error.h"
#include "support/message.h"

namespace baretile {

// A file with this content for as long as the object lives.
class TempFile {
 public:
  explicit TempFile(const std::string& content, const std::string& name = "model") {
    static int count = 0;
    path_ = testing::TempDir() + name + "." + std::to_string(::getpid()) + "." + std::to_string(++count);
    std::ofstream(path_, std::ios::binary) << content;
  }
  TempFile(const TempFile&) = delete;
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// tests/models/vectors.json, which tools/golden.py made with NumPy, gguf, HF tokenizers and Jinja2.
inline const nlohmann::json& vectors() {
  static const nlohmann::json all =
      nlohmann::json::parse(std::ifstream(BARETILE_SOURCE_DIR "/tests/models/vectors.json"));
  return all;
}

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string unhex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

// Writes GGUF v3; nothing is checked, so that a test may write nonsense.
class GgufWriter {
 public:
  enum Type : u32 { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

  static std::string text(const std::string& value) { return raw<u64>(value.size()) + value; }
  GgufWriter& add(const std::string& key, u32 type, const std::string& payload) {
    keys_.emplace_back(key, raw(type) + payload);
    return *this;
  }
  GgufWriter& add(const std::string& key, const std::string& value) { return add(key, kString, text(value)); }
  GgufWriter& add(const std::string& key, u32 value) { return add(key, kU32, raw(value)); }
  GgufWriter& add(const std::string& key, float value) { return add(key, kF32, raw(value)); }
  GgufWriter& add(const std::string& key, bool value) { return add(key, kBool, raw<u8>(value)); }
  GgufWriter& add(const std::string& key, const std::vector<std::string>& values) {
    std::string payload = raw<u32>(kString) + raw<u64>(values.size());
    for (const std::string& value : values) payload += text(value);
    return add(key, kArray, payload);
  }
  GgufWriter& add(const std::string& key, const std::vector<i32>& values) {
    std::string payload = raw<u32>(kI32) + raw<u64>(values.size());
    for (i32 value : values) payload += raw(value);
    return add(key, kArray, payload);
  }
  GgufWriter& remove(const std::string& key) {
    std::erase_if(keys_, [&](const auto& entry) { return entry.first == key; });
    return *this;
  }
  // `shape` outermost first. `offset` other than -1 is written as it is.
  GgufWriter& tensor(const std::string& name, u32 type, std::vector<u64> shape, const std::string& bytes,
                     i64 offset = -1) {
    while (data_.size() % 32 != 0) data_ += '\0';
    entries_ += text(name) + raw<u32>(shape.size());
    for (size_t i = shape.size(); i-- > 0;) entries_ += raw(shape[i]);
    entries_ += raw(type) + raw<u64>(offset == -1 ? data_.size() : offset);
    data_ += bytes;
    ++tensors;
    return *this;
  }
  GgufWriter& tensor(const std::string& name, std::vector<u64> shape, const std::vector<float>& values) {
    return tensor(name, 0, shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  std::string bytes() const {
    std::string out = magic + raw(version) + raw(tensors) + raw<u64>(keys_.size() + extra_keys);
    for (const auto& [key, value] : keys_) out += text(key) + value;
    out += entries_;
    while (out.size() % 32 != 0) out += '\0';
    return out + data_;
  }

  std::string magic = "GGUF";
  u32 version = 3;
  u64 tensors = 0, extra_keys = 0;

 private:
  std::vector<std::pair<std::string, std::string>> keys_;
  std::string entries_, data_;
};

// The two-layer model whose logits vectors.json records: a weight is a hash of its tensor's place by name and its
// index.
inline GgufWriter tiny_llama(bool tied_embedding = false) {
  GgufWriter out;
  out.add("general.architecture", std::string("llama"));
  for (const auto& [key, value] : vectors()["tiny_llama"]["sizes"].items()) out.add("llama." + key, value.get<u32>());
  out.add("llama.attention.layer_norm_rms_epsilon", 1e-5f).add("llama.rope.freq_base", 10000.0f);
  out.add("tokenizer.ggml.tokens", std::vector<std::string>(40, "x"));
  u32 place = 0;
  for (const auto& [name, dims] : vectors()["tiny_llama"]["shapes"].items()) {  // sorted by name
    const auto shape = dims.get<std::vector<u64>>();
    std::vector<float> values(shape[0] * (shape.size() > 1 ? shape[1] : 1));
    for (u32 i = 0; i < values.size(); ++i) {
      u32 x = i * 2654435761u + place * 40503u;
      x = (x ^ x >> 15) * 2246822519u;
      x ^= x >> 13;
      values[i] = static_cast<float>(x >> 8) / 16777216.0f - 0.5f;
    }
    if (!tied_embedding || name != "output.weight") out.tensor(name, shape, values);
    ++place;
  }
  return out;
}

}  // namespace baretile
