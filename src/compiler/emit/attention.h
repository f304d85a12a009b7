// Attention kernels as text: constants and page maps for the template of kernels/whole/attention.h.
#pragma once
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

inline constexpr u32 kWidestAttention = 5 * 32;  // columns of values: what else is in Dst takes three tiles of eight

std::string attention_text(const KernelSpec& spec);
u32 attention_workers(const AttentionKernel& kernel);

}  // namespace baretile::compiler
