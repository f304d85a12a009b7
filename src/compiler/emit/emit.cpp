#include "compiler/emit/emit.h"

#include <fmt/format.h>

#include "baretile/abi.h"
#include "baretile/error.h"
#include "compiler/emit/attention.h"
#include "compiler/emit/compute.h"
#include "compiler/emit/move.h"

namespace baretile::compiler {
namespace {

struct Emitted {
  std::string text;
  u32 items;
};

// The widest block of column tiles that Dst holds.
Emitted emit_compute(const KernelSpec& spec) {
  const std::vector<u32> widths = block_widths(spec);
  for (const u32 columns : widths) {
    const Plan plan = make_plan(spec, columns);
    try {
      return {ComputeEmitter(plan).text(), plan.items};
    } catch (const Unsupported&) {
      if (columns == 1) throw;
    }
  }
  throw InternalError("block_widths must end with 1");
}

}  // namespace

KernelSource emit(const KernelSpec& spec) {
  if (spec.buffers.size() > abi::kMaxArgs)
    throw KernelTooLarge(fmt::format("kernel {} uses {} tensors, of which a launch names {}; it must be split",
                                     spec.name, spec.buffers.size(), abi::kMaxArgs));
  if (spec.kind == KernelKind::attention) return {spec.name, attention_text(spec)};
  return {spec.name, spec.kind == KernelKind::move ? move_text(spec) : emit_compute(spec).text};
}

u32 max_workers(const KernelSpec& spec) {
  if (spec.kind == KernelKind::attention) return attention_workers(spec.attention);
  return spec.kind == KernelKind::move ? move_workers(spec) : emit_compute(spec).items;
}

}  // namespace baretile::compiler
