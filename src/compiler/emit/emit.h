// A KernelSpec as the C++ source of one tile program: short text over the templates of kernels/.
//   KernelSource source = emit(spec);  launch.max_workers = max_workers(spec);
#pragma once
#include "baretile/error.h"
#include "compiler/build/build.h"
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

// A kernel needs more of Dst than there is, or more tensors than a launch names.
struct KernelTooLarge : Unsupported {
  using Unsupported::Unsupported;
};

// Throws KernelTooLarge, or Unsupported for a format that no unit takes.
KernelSource emit(const KernelSpec& spec);

// How many tiles at most have work.
u32 max_workers(const KernelSpec& spec);

}  // namespace baretile::compiler
