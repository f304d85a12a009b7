// Reads a linked kernel: its code as one flat image and where the five kernel functions are in it.
#pragma once
#include <span>

#include "baretile/program.h"

namespace baretile::compiler {

// Throws CompileError, naming `source_path`, when the file is no kernel image: not RISC-V, no kernel function, not
// position-independent.
KernelImage read_kernel_elf(std::span<const u8> file, const std::string& source_path);

}  // namespace baretile::compiler
