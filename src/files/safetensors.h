// A safetensors file (Hugging Face's checkpoint format): tensors by name, read in place, and the file's own remarks.
//   Safetensors file("model.safetensors");  read_rows(file.tensor("lm_head.weight"), 0, row);
// Offsets, shapes and sizes are checked on opening; UsageError names the file, the tensor and the value.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "files/mapped_file.h"
#include "files/stored_tensor.h"

namespace baretile {

class Safetensors {
 public:
  explicit Safetensors(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const TensorMap& tensors() const { return tensors_; }
  const StoredTensor& tensor(std::string_view name) const { return find_tensor(tensors_, name, path()); }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }  // "__metadata__"

 private:
  MappedFile file_;
  TensorMap tensors_;
  std::map<std::string, std::string> metadata_;
};

struct NewStoredTensor {
  std::string name;
  StoredType type;
  std::vector<u64> shape;
  std::function<std::vector<std::byte>()> data;  // called once, when its turn comes
};
// Writes a file of tensors of different names, the widest types first, so that each begins at a multiple of its
// element.
void write_safetensors(const std::string& path, std::vector<NewStoredTensor> tensors);

}  // namespace baretile
