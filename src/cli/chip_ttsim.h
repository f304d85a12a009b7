#pragma once
#include "cli/command.h"

namespace baretile::cli {

// `baretile chip ttsim`: gets ttsim's library into the cache, checked. Throws unless it lies there whole.
int get_ttsim(Arguments& arguments);

}  // namespace baretile::cli
