#include "compiler/fuse/lower.h"

#include <fmt/ranges.h>

#include "compiler/custom/custom.h"

namespace baretile::compiler {

// Each operand has an argument, even if two of them are one tensor. A result of one row, which others read in rows, is
// cut into these by a kernel of its own.
void Lowering::lower_custom(u32 node) {
  const Node& n = a_.graph.nodes[node];
  PlannedKernel kernel;
  const auto add = [&](u32 value) {
    const BufferDesc& desc = plan_.values[value].desc;
    kernel.values.push_back(value);
    kernel.spec.buffers.push_back({desc.dtype, desc.tiling, desc.shape});
  };
  for (const u32 input : n.inputs) add(in_own_order(input, Tiling::tile));
  const Tiling usual = default_tiling(n.shape);
  const u32 to = usual == Tiling::tile ? value(node) : new_value(n, Tiling::tile);
  add(to);
  kernel.spec.kind = KernelKind::custom;
  kernel.spec.custom.number = u32(n.attrs[0]);
  kernel.spec.custom.args.assign(n.attrs.begin() + 1, n.attrs.end());
  kernel.spec.name = fmt::format("{}_{}", custom(kernel.spec.custom.number).name, fmt::join(n.shape, "x"));
  kernel.writes = {to};
  kernel.nodes = {node};
  plan_.kernels.push_back(std::move(kernel));
  values_[{node, Tiling::tile}] = to;
  if (usual != Tiling::tile) values_[{node, usual}] = copy_value(plan_, to, usual);
}

}  // namespace baretile::compiler
