// Files of tensors by their endings.
#include "baretile/files.h"

#include <fmt/format.h>

#include "baretile/error.h"
#include "capi/handles.h"

using namespace baretile::capi;
using baretile::NamedTensors;
using baretile::UsageError;

namespace {

enum class Format { npy, npz, safetensors };

Format format_of(const std::string& path) {
  if (path.ends_with(".npy")) return Format::npy;
  if (path.ends_with(".npz")) return Format::npz;
  if (path.ends_with(".safetensors")) return Format::safetensors;
  throw UsageError(fmt::format("{}: the ending says what a file of tensors is; give .npy, .npz or .safetensors", path));
}

NamedTensors load(baretile::Runtime& runtime, const std::string& path, std::optional<baretile::DType> as) {
  switch (format_of(path)) {
    case Format::npy:
      return {{"", load_npy(runtime, path, as)}};
    case Format::npz:
      return load_npz(runtime, path, as);
    default:
      return load_safetensors(runtime, path, as);
  }
}

void save(const std::string& path, const char* const* names, const std::vector<baretile::Tensor>& tensors) {
  const Format format = format_of(path);
  if (format == Format::npy) {
    if (names || tensors.size() != 1)
      throw UsageError(fmt::format("{}: a .npy is one tensor without a name, not {}{}; save as .npz or .safetensors",
                                   path, tensors.size(), names ? " with names" : ""));
    return save_npy(path, tensors[0]);
  }
  if (!names && !tensors.empty())
    throw UsageError(fmt::format("{}: the file needs a name for each tensor; give names, or save one as .npy", path));
  const NamedTensors all = named(names, tensors);
  format == Format::npz ? save_npz(path, all) : save_safetensors(path, all);
}

}  // namespace

namespace baretile::capi {

void give_named(const Owner& owner, const NamedTensors& all, bt_named each, void* data) {
  if (!each) throw UsageError("the function that gets the tensors is NULL; give a pointer");
  for (const auto& [name, tensor] : all)
    if (name.find('\0') != name.npos)
      throw UsageError(fmt::format("the name '{}' has a zero in it; load it in C++", name.c_str()));
  for (const auto& [name, tensor] : all) {
    bt_tensor* made = nullptr;
    give(&made, owner, tensor);
    each(data, name.c_str(), made);
  }
}

NamedTensors named(const char* const* names, const std::vector<Tensor>& tensors) {
  NamedTensors all;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!all.emplace(&needed((&needed(names, "names"))[i], "a name"), tensors[i]).second)
      throw UsageError(fmt::format("two tensors are called '{}'; give each a name of its own", names[i]));
  return all;
}

}  // namespace baretile::capi

bt_status bt_load(bt_runtime* runtime, const char* path, bt_dtype as, bt_named each, void* data) {
  return guarded([&] {
    const Owner& owner = needed(runtime, "runtime").runtime;
    const std::string file = &needed(path, "path");
    const auto dtype = as == BT_AS_STORED ? std::nullopt : std::optional(dtype_of(as));
    give_named(owner, load(*owner, file, dtype), each, data);
  });
}

bt_status bt_save(const char* path, const char* const* names, const bt_tensor* const* tensors, size_t count) {
  return guarded([&] {
    const Operands all(tensors, count);
    all.need_all();
    save(&needed(path, "path"), names, all.tensors);
  });
}
