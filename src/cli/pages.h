// The manual page and shell completion, made of what --help shows.
#pragma once
#include <span>
#include <string>

#include "cli/command.h"

namespace baretile::cli {

std::string man_page(std::span<const Command* const> commands, const std::string& more);
std::string bash_completion(std::span<const Command* const> commands);

}  // namespace baretile::cli
