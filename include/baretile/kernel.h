// Kernels of your own: C++ for the five cores of a tile, against the headers in kernels/.
//   KernelImage fill = compile_kernel("fill", text);  runtime.launch(fill, {u32(buffer.address()), 42});
#pragma once
#include <string>

#include "baretile/program.h"

#pragma GCC visibility push(default)
namespace baretile {

// One translation unit that defines some of extern "C" void kernel_brisc(const u32* args), kernel_ncrisc,
// kernel_trisc0, kernel_trisc1 and kernel_trisc2. It may include baretile/{bits,abi}.h, baretile/isa/* and kernels/*;
// globals that are written, and tables of pointers, are refused. Messages about its lines call it `name`.cc. Kept in
// the kernel cache, so that the same text is compiled once. CompileError holds what the compiler says; SystemError:
// there is none.
KernelImage compile_kernel(const std::string& name, const std::string& text);

}  // namespace baretile
#pragma GCC visibility pop
