// Every stage of the compiler as text: for `baretile show` and for golden tests.
#pragma once
#include <string>

#include "compiler/schedule.h"

namespace baretile::compiler {

std::string to_string(const Graph& graph);
std::string to_string(const KernelSpec& spec);
std::string to_string(const FusionPlan& plan);  // what leaves each kernel, and why
std::string to_string(const Schedule& schedule);
std::string to_string(const Program& program);

}  // namespace baretile::compiler
