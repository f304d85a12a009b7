#include "models/model_path.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "baretile/error.h"

namespace baretile {

std::string cached_model(std::string_view name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const bool has_cache = cache && *cache;
  if (!has_cache && !(home && *home))
    throw UsageError("neither XDG_CACHE_HOME nor HOME is set; set one, or name the model file");
  const std::filesystem::path base = has_cache ? std::filesystem::path(cache) : std::filesystem::path(home) / ".cache";
  const std::filesystem::path path = base / "baretile" / "models" / name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw UsageError(fmt::format("{} is missing; run tools/get-model, or name a model file", path.string()));
  return path.string();
}

}  // namespace baretile
