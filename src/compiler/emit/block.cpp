#include "compiler/emit/block.h"

#include <algorithm>

namespace baretile::compiler {
namespace {

// What a team's blocks cost on a usual card, in cycles for each step of k: 11 x 10 tiles at work, DRAM that gives 225
// bytes a cycle when pages come from anywhere, 17 cycles for 16 MVMULs.
u64 cycles(const KernelSpec& spec, const Block& block) {
  constexpr u32 kRows = 10, kColumns = 11, kDramBytes = 225, kMvmuls = 17;
  const BlockGrid grid = block_grid(spec.compute, block);
  const u64 down = ceil_div(grid.rows, kRows), across = ceil_div(grid.columns, kColumns);
  u64 bytes = 0, math = 0;
  for (const Step& step : spec.compute.steps) {
    if (step.kind != StepKind::contraction) continue;
    const KernelBuffer &left = spec.buffers[step.contraction.left.buffer],
                       &right = spec.buffers[step.contraction.right.buffer];
    bytes += ceil_div(grid.rows, down) * block.rows * page_bytes(left.tiling, left.dtype) +
             ceil_div(grid.columns, across) * block.columns * page_bytes(right.tiling, right.dtype);
    math += block.tiles() * kMvmuls * step.contraction.phases;
  }
  return grid.batches * down * across * std::max(bytes / kDramBytes, math);
}

}  // namespace

BlockGrid block_grid(const ComputeKernel& kernel, const Block& block) {
  bool stacked = true;
  for (const Step& step : kernel.steps)
    for (const Digit& digit : step.contraction.right.map.batch) stacked &= digit.stride == 0;
  const u32 rows = kernel.row_tiles / block.rows;
  return {stacked ? 1 : kernel.batch, stacked ? kernel.batch * rows : rows, kernel.col_tiles / block.columns};
}

std::vector<Block> blocks(const KernelSpec& spec) {
  constexpr u32 kMostTiles = 8;      // in Dst
  constexpr u32 kEnoughItems = 128;  // without a team a narrower block is better than idle tiles
  // In tiles, along an axis of the output, in all of it, and along k: for a team to be worth that its tiles wait.
  constexpr u32 kLeast = 4, kLeastOut = 32, kLeastK = 8;
  const ComputeKernel& kernel = spec.compute;
  const auto [batches, rows_in_all, columns_in_all] = block_grid(kernel, {});
  u32 products = 0;
  bool grouped = false, team = !kernel.one_row && std::min(rows_in_all, columns_in_all) >= kLeast &&
                               u64{rows_in_all} * columns_in_all >= kLeastOut;
  for (const Step& step : kernel.steps) {
    if (step.kind != StepKind::contraction) continue;
    const Tiling left = spec.buffers[step.contraction.left.buffer].tiling;
    grouped |= !kernel.one_row && left == Tiling::split;
    team &= ++products < abi::kTeamOperands && left == Tiling::tile && step.contraction.k_tiles >= kLeastK;
  }
  if (products == 0 || grouped || kernel.reduce != ReduceAxis::none) return {Block{}};
  std::vector<Block> plain, shared;
  for (u32 columns = kMostTiles; columns > 0; --columns) {
    if (kernel.col_tiles % columns != 0) continue;
    if (columns == 1 || u64{batches} * rows_in_all * columns_in_all / columns >= kEnoughItems)
      plain.push_back({1, columns});
    for (u32 rows = 1; team && rows * columns <= kMostTiles; ++rows)
      if (kernel.row_tiles % rows == 0) shared.push_back({rows, columns, true});
  }
  // Of equals the wider one, which unpacks fewer left tiles.
  std::stable_sort(shared.begin(), shared.end(),
                   [&](const Block& a, const Block& b) { return cycles(spec, a) < cycles(spec, b); });
  shared.insert(shared.end(), plain.begin(), plain.end());
  return shared;
}

}  // namespace baretile::compiler
