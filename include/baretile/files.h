// Tensors in files: NumPy's .npy and .npz, and safetensors. Files are written beside their path and then moved there.
//   save_npz("state.npz", {{"w", w}, {"b", b}});  Tensor w = load_npz(runtime, "state.npz").at("w");
#pragma once
#include <map>
#include <optional>
#include <string>

#include "baretile/tensor.h"

#pragma GCC visibility push(default)
namespace baretile {

using NamedTensors = std::map<std::string, Tensor>;  // by their names in the file

// Arrays of float32, int32, uint32 and bool, and float16, which becomes fp32. Any array is converted to a dtype that is
// asked for by name; other types, as float64 and int64, need that. Numbers that an integer dtype cannot hold are
// errors.
Tensor load_npy(Runtime& runtime, const std::string& path, std::optional<DType> as = {});
NamedTensors load_npz(Runtime& runtime, const std::string& path, std::optional<DType> as = {});
// fp32, integers and booleans: NumPy has no bf16, and there is no compression.
void save_npy(const std::string& path, const Tensor& tensor);
void save_npz(const std::string& path, const NamedTensors& tensors);

// F32, BF16, I32, U32, BOOL, and F16, which becomes fp32; all are converted to a dtype that is asked for, as above.
NamedTensors load_safetensors(Runtime& runtime, const std::string& path, std::optional<DType> as = {});
void save_safetensors(const std::string& path, const NamedTensors& tensors);

}  // namespace baretile
#pragma GCC visibility pop
