// What a compute kernel does when, and where in Dst: the part of emission that is the same for all five cores.
#pragma once
#include <map>

#include "compiler/emit/block.h"
#include "compiler/emit/chunk.h"

namespace baretile::compiler {

inline constexpr u32 kDstRows = 512;

enum class LeftKind { tile, turned, row, split };  // turned: in tiles, stored transposed

// Whether a left operand is unpacked in row groups.
inline bool by_groups(const ComputeKernel& kernel, LeftKind left) { return left == LeftKind::split && !kernel.one_row; }

// Contractions that share a left operand, which is unpacked once for all of them: steps.size() right tiles a k and
// column.
struct Product {
  std::vector<u32> steps = {};
  const Contraction* form = nullptr;  // of the first: left, transposition, k_tiles and phases are those of all
  LeftKind left = LeftKind::tile;
  u32 fills = 1;           // SrcB is filled so often for a k: split operands of more than four row groups need two
  u32 base = 0, rows = 0;  // accumulator of step c, column w: `rows` rows at base + rows * (c + steps * w)
};

// One pass over the tiles along the reduced axis (or the only pass).
struct Stage {
  bool looped = false;
  std::vector<u32> loads = {};  // steps, in the order of their pages: 16-bit ones, then 32-bit ones
  std::vector<Product> products = {};
  std::vector<u32> reduces = {};  // folded in this stage
  std::vector<u32> outputs = {};  // indices of ComputeKernel::outputs that are written at the end of each tile
};

// For each step: the number of reductions on the longest way to it, and whether it differs from tile to tile of the
// axis.
struct Reach {
  std::vector<u32> depth = {};
  std::vector<bool> varies = {};
};

struct Plan {
  const KernelSpec& spec;
  Block block = {};
  BlockGrid grid = {};
  u32 slot_rows = 64;
  u32 items = 1;
  bool beside = false;  // a product of one row, which takes from the right operand rows of tiles that are in one bank
  u32 run = 1;          // steps of k whose pages share a slot of the input ring
  u32 input_slot = 64, output_slot = 64;  // bytes
  std::vector<Stage> stages = {};
  Reach shape = {};

  const ComputeKernel& kernel() const { return spec.compute; }
  const KernelBuffer& buffer(const Access& access) const { return spec.buffers[access.buffer]; }
  u32 bytes(const Access& access) const {
    return page_bytes(buffer(access).tiling, buffer(access).dtype);
  }  // of a page
  bool wide_load(u32 step) const { return dtype_bytes(buffer(kernel().steps[step].access).dtype) == 4; }
  bool reduced(u32 step) const {
    return kernel().reduce != ReduceAxis::none && !shape.varies[step];
  }  // one value along the axis
  // As `reduced`, and stored as one row or column; other values that are the same along the axis fill all of it.
  bool reduced(const Output& output) const {
    const std::vector<i64>& stored = buffer(output.access).shape;
    const size_t from_last = kernel().reduce == ReduceAxis::cols ? 1 : 2;
    return reduced(output.step) && (stored.size() < from_last || stored[stored.size() - from_last] == 1);
  }
  u32 axis_tiles() const { return kernel().reduce == ReduceAxis::cols ? kernel().col_tiles : kernel().row_tiles; }
  u32 left_groups() const;  // row groups of a split matrix in a tile, at most
};

// `block`: to try. Throws KernelTooLarge when it does not fit in `l1_bytes`, Unsupported for operands that no unit
// takes.
Plan make_plan(const KernelSpec& spec, const Block& block, u64 l1_bytes);

// What make_plan ends with: the size of input slots, with a shorter run where what the kernel keeps in L1 is too much.
void size_slots(Plan& plan, u64 l1_bytes);

// Which steps have zeros beyond the matrix's rows or columns, without masking.
struct Padding {
  std::vector<bool> rows, cols = {};
};
Padding zero_padding(const KernelSpec& spec);

}  // namespace baretile::compiler
