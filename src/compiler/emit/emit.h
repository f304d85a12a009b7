// A KernelSpec as the C++ source of one tile program: short text over the templates of kernels/.
//   KernelSource source = emit(spec);
#pragma once
#include "baretile/error.h"
#include "baretile/isa/mmio.h"
#include "compiler/build/build.h"
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

// A kernel needs more of Dst or of a tile's L1 than there is, or more tensors than a launch names.
struct KernelTooLarge : Unsupported {
  using Unsupported::Unsupported;
};

// Throws KernelTooLarge, or Unsupported for a format that no unit takes. `l1_bytes` is what a tile has.
KernelSource emit(const KernelSpec& spec, u64 l1_bytes = isa::kL1Bytes);

}  // namespace baretile::compiler
