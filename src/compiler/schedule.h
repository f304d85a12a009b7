// Second stage: kernels in an order that respects data and versions, buffers with lifetimes and places, equal kernels
// once.
#pragma once
#include "compiler/fuse/fuse.h"

namespace baretile::compiler {

Schedule schedule(const FusionPlan& plan);
// The plan's kernels by number.
std::vector<u32> launch_order(const FusionPlan& plan);

}  // namespace baretile::compiler
