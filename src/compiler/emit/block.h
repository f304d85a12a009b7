// Which output tiles a tile makes at once.
#pragma once
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

struct Block {
  u32 rows = 1, columns = 1;  // of output tiles, side by side in Dst
  bool team = false;          // blocks are shared out over a team, which reads their operands together (kernels/team.h)
  u32 tiles() const { return rows * columns; }
};

// The blocks of one matrix after another; of all matrices stacked below one another where they have one right operand.
struct BlockGrid {
  u32 batches = 1, rows = 1, columns = 1;
};
BlockGrid block_grid(const ComputeKernel& kernel, const Block& block);

// Blocks that suit the kernel, the best first; one tile, without a team, is the last.
std::vector<Block> blocks(const KernelSpec& spec);

}  // namespace baretile::compiler
