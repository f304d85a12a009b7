// What follows a user's kernel element by element is done by it, on the tile in Dst, if its text calls
// fused_neighbours(page): what that is, the compiler writes in front of the text.
#include <algorithm>

#include "compiler/custom/custom.h"
#include "compiler/emit/compute.h"
#include "compiler/emit/emit.h"
#include "compiler/fuse/fuse.h"

namespace baretile::compiler {

Code ComputeEmitter::on_tile() {
  next_row_ = kDstRows;
  for (u32 n = 0; n < kernel_.steps.size(); ++n)
    if (kernel_.steps[n].kind == StepKind::load) place_of_[n] = {};
  Code code(1);
  make_outputs(code, {.outputs = {0}});
  return code;
}

std::string custom_text(const KernelSpec& spec) {
  const CustomOperation& op = custom(spec.custom.number);
  if (!op.fuses) return op.text;
  Code code;
  code.line("\nnamespace baretile::kernel {{");
  code.open("inline void fused_neighbours([[maybe_unused]] u32 page)");
  if (const ComputeKernel& after = spec.custom.after; !after.steps.empty()) {
    const KernelSpec rest{spec.name, spec.buffers, KernelKind::compute, after, {}, {}, {}};
    const Plan plan{rest};
    const Code body = ComputeEmitter(plan).on_tile();
    if (mentions(body.text(), "i")) code.line("const u32 i = page / {} % {};", after.col_tiles, after.row_tiles);
    if (mentions(body.text(), "j")) code.line("const u32 j = page % {};", after.col_tiles);
    code.append(body);
  }
  code.close();
  code.line("}}");
  return operation_headers(code.text()) + code.text() + op.text;
}

namespace {

// The only kernel that reads the value, if nobody else wants it.
std::optional<u32> only_reader(const FusionPlan& plan, u32 value) {
  std::optional<u32> reader;
  for (u32 k = 0; k < plan.kernels.size(); ++k) {
    const PlannedKernel& kernel = plan.kernels[k];
    if (std::find(kernel.values.begin(), kernel.values.end(), value) == kernel.values.end() ||
        std::find(kernel.writes.begin(), kernel.writes.end(), value) != kernel.writes.end())
      continue;
    if (reader) return std::nullopt;
    reader = k;
  }
  const bool wanted = std::find(plan.outputs.begin(), plan.outputs.end(), value) != plan.outputs.end() ||
                      std::any_of(plan.values.begin(), plan.values.end(),
                                  [&](const Value& other) { return other.alias_of == i32(value); });
  return wanted ? std::nullopt : reader;
}

// Whether a kernel makes each page of its result from the same page of the only value that it reads.
bool maps_pages(const FusionPlan& plan, const PlannedKernel& kernel) {
  const ComputeKernel& c = kernel.spec.compute;
  if (kernel.spec.kind != KernelKind::compute || c.reduce != ReduceAxis::none || kernel.values.size() != 2 ||
      kernel.writes.size() != 1 || c.outputs.size() != 1)
    return false;
  const BufferDesc &a = plan.values[kernel.values[0]].desc, &b = plan.values[kernel.values[1]].desc;
  if (a.dtype != b.dtype || a.tiling != b.tiling || extents(a.shape) != extents(b.shape)) return false;
  return std::all_of(c.steps.begin(), c.steps.end(), [&](const Step& step) {
    if (step.kind == StepKind::load)
      return step.access.broadcast == Broadcast::none && step.access.map == c.outputs[0].access.map;
    return step.kind != StepKind::contraction;
  });
}

// The user's kernel with the other one's operations, writing what that wrote.
PlannedKernel joined(const PlannedKernel& own, const PlannedKernel& next) {
  PlannedKernel out = own;
  const u32 result = u32(own.values.size()) - 1;
  ComputeKernel& after = out.spec.custom.after = next.spec.compute;
  for (Step& step : after.steps) step.access.buffer = result;
  after.outputs[0].access.buffer = result;
  out.spec.buffers[result] = next.spec.buffers[next.spec.compute.outputs[0].access.buffer];
  out.spec.name = custom(own.spec.custom.number).name + "_" + next.spec.name;
  out.values[result] = next.writes[0];
  out.writes = next.writes;
  out.nodes.insert(out.nodes.end(), next.nodes.begin(), next.nodes.end());
  return out;
}

}  // namespace

void fuse_after_custom(FusionPlan& plan) {
  for (u32 k = 0; k < plan.kernels.size(); ++k) {
    if (plan.kernels[k].spec.kind != KernelKind::custom || !custom(plan.kernels[k].spec.custom.number).fuses) continue;
    const std::optional<u32> next = only_reader(plan, plan.kernels[k].writes[0]);
    if (!next || !maps_pages(plan, plan.kernels[*next])) continue;
    PlannedKernel both = joined(plan.kernels[k], plan.kernels[*next]);
    try {
      custom_text(both.spec);
    } catch (const KernelTooLarge&) {  // operations that need more of Dst stay a kernel of their own
      continue;
    }
    plan.kernels[k] = std::move(both);
    plan.kernels.erase(plan.kernels.begin() + *next);
    if (*next < k) --k;
  }
}

}  // namespace baretile::compiler
