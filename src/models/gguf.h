// A GGUF v3 file (llama.cpp's model format): metadata by key, tensors by name, read in place.
//   Gguf file("model.gguf");  file.integer("llama.block_count");  read_rows(file.tensor("token_embd.weight"), id, row);
// Every count, length and offset is checked on opening; UsageError names the file, the object and the value.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "files/mapped_file.h"
#include "files/stored_tensor.h"

namespace baretile {

class Gguf {
 public:
  using Value =
      std::variant<bool, i64, double, std::string, std::vector<i64>, std::vector<double>, std::vector<std::string>>;

  explicit Gguf(const std::string& path);

  const std::string& path() const { return file_.path(); }
  bool has(std::string_view key) const { return metadata_.find(key) != metadata_.end(); }
  // UsageError when the key is missing or holds another kind of value.
  bool boolean(std::string_view key) const;
  i64 integer(std::string_view key) const;
  double real(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const std::vector<i64>& integers(std::string_view key) const;
  const std::vector<std::string>& texts(std::string_view key) const;

  const TensorMap& tensors() const { return tensors_; }
  const StoredTensor& tensor(std::string_view name) const { return find_tensor(tensors_, name, path()); }

 private:
  template <class T>
  const T& get(std::string_view key, const char* kind) const;

  MappedFile file_;
  std::map<std::string, Value, std::less<>> metadata_;
  TensorMap tensors_;
};

}  // namespace baretile
