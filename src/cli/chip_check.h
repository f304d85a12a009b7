#pragma once
#include <string>

namespace baretile::cli {

// `baretile chip check`: prints one line a need, with what to do when it is not met. 0 when all are met, else 1.
int check_machine(const std::string& device);

}  // namespace baretile::cli
