// Move kernels as text: both data-movement cores run the same template.
#pragma once
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

std::string move_text(const KernelSpec& spec);
u32 move_workers(const KernelSpec& spec);  // tiles with work: two cores a tile

}  // namespace baretile::compiler
