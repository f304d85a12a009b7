// A KernelSpec as the C++ source of one tile program: short text over the templates of kernels/.
//   KernelSource source = emit(spec);  launch = work_of(spec);
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

// A launch of it with nothing but how its work is shared out over tiles.
Launch work_of(const KernelSpec& spec);

}  // namespace baretile::compiler
