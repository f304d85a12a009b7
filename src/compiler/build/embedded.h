// The headers that kernels include, as the library carries them.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace baretile::compiler {

struct EmbeddedFile {
  std::string_view path;  // as "kernels/noc.h"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();
const std::string& embedded_hash();  // of all paths and texts

}  // namespace baretile::compiler
