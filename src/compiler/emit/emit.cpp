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
std::pair<std::string, Launch> emit_compute(const KernelSpec& spec, u64 l1_bytes) {
  const std::vector<Block> candidates = blocks(spec);
  for (const Block& block : candidates) {
    for (const bool ahead : {true, false}) {
      try {
        const Plan plan = make_plan(spec, block, l1_bytes);
        Launch work{.max_workers = plan.items, .args = {}, .label = {}};
        if (block.team) {
          work.block_rows = plan.grid.rows, work.block_columns = plan.grid.columns;
          work.max_workers = work.block_rows * work.block_columns;
        }
        return {ComputeEmitter(plan, ahead).text(), std::move(work)};
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
  if (spec.kind == KernelKind::attention) return {spec.name, attention_text(spec)};
  if (spec.kind == KernelKind::custom) return {spec.name, custom_text(spec)};
  return {spec.name, spec.kind == KernelKind::move ? move_text(spec) : emit_compute(spec, l1_bytes).first};
}

Launch work_of(const KernelSpec& spec) {
  if (spec.kind == KernelKind::compute) return emit_compute(spec, isa::kL1Bytes).second;
  const u32 workers = spec.kind == KernelKind::move     ? move_workers(spec)
                      : spec.kind == KernelKind::custom ? spec.custom.args.at(0)
                                                        : attention_workers(spec.attention);
  return {.max_workers = workers, .args = {}, .label = {}};
}

}  // namespace baretile::compiler
