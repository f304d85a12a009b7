#include "compiler/emit/emit.h"

#include <fmt/format.h>

#include "baretile/abi.h"
#include "baretile/error.h"
#include "compiler/custom/custom.h"
#include "compiler/emit/attention.h"
#include "compiler/emit/compute.h"
#include "compiler/emit/move.h"

namespace baretile::compiler {
namespace {

// The best block that Dst and L1 hold, with what is made ahead where Dst has room for it.
KernelSource emit_compute(const KernelSpec& spec, u64 l1_bytes) {
  const std::vector<Block> candidates = blocks(spec);
  for (const Block& block : candidates) {
    for (const bool ahead : {true, false}) {
      try {
        const Plan plan = make_plan(spec, block, l1_bytes);
        Launch work{.max_workers = plan.items};
        for (const Step& step : spec.compute.steps)
          if (plan.beside && step.kind == StepKind::contraction) work.beside = i32(step.contraction.right.buffer);
        if (block.team) {
          work.block_rows = plan.grid.rows, work.block_columns = plan.grid.columns;
          work.max_workers = work.block_rows * work.block_columns;
        }
        return {spec.name, ComputeEmitter(plan, ahead).text(), std::move(work)};
      } catch (const Unsupported&) {
        if (&block == &candidates.back() && !ahead) throw;
      }
    }
  }
  throw InternalError("blocks() gave none");
}

}  // namespace

KernelSource emit(const KernelSpec& spec, u64 l1_bytes) {
  if (spec.buffers.size() > abi::kMaxArgs)
    throw KernelTooLarge(fmt::format("kernel {} uses {} tensors, of which a launch names {}; it must be split",
                                     spec.name, spec.buffers.size(), abi::kMaxArgs));
  switch (spec.kind) {
    case KernelKind::move:
      return {spec.name, move_text(spec), {.max_workers = move_workers(spec)}};
    case KernelKind::attention:
      return {spec.name, attention_text(spec), {.max_workers = attention_workers(spec.attention)}};
    case KernelKind::custom:
      return {spec.name, custom_text(spec), {.max_workers = spec.custom.args.at(0)}};
    case KernelKind::compute:
      break;
  }
  return emit_compute(spec, l1_bytes);
}

}  // namespace baretile::compiler
