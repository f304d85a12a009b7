// Where tools/get-model puts models: ${XDG_CACHE_HOME:-~/.cache}/baretile/models.
#pragma once
#include <string>
#include <string_view>

namespace baretile {

inline constexpr std::string_view kDefaultModel = "smollm2-135m-instruct.gguf";

// Path of a file there. UsageError when it is missing, saying to run tools/get-model.
std::string cached_model(std::string_view name = kDefaultModel);

}  // namespace baretile
