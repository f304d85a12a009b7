// Where source lines and formats are found: in a kernel's linked file.
#pragma once
#include <vector>

#include "baretile/program.h"

namespace baretile::debug {

// That of an image that build_kernels made: the same code with line tables, and what kernels/debug/print.h left for the
// host. Compiled when the kernel cache lacks it. SystemError or CompileError when it cannot be had.
std::vector<u8> linked_with_lines(const KernelImage& image);

}  // namespace baretile::debug
