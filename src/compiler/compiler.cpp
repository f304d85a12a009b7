#include "compiler/compiler.h"

#include <algorithm>
#include <set>

#include "compiler/emit/emit.h"

namespace baretile::compiler {

std::vector<u32> output_slots(const FusionPlan& plan) {
  std::vector<u32> slots;
  for (u32 value : plan.outputs) slots.push_back(u32(plan.values[root_of(plan, value)].desc.external));
  return slots;
}

namespace {

// Pairs for Launch::in_place: a page of `to` is computed from the same page of `from`, which nothing else reads.
std::vector<std::pair<u32, u32>> in_place(const KernelSpec& spec) {
  const ComputeKernel& kernel = spec.compute;
  if (kernel.reduce != ReduceAxis::none) return {};  // which may read more than once
  std::vector<u32> uses(spec.buffers.size());
  std::vector<std::set<u32>> loads(kernel.steps.size());  // that a step depends on
  for (u32 n = 0; n < kernel.steps.size(); ++n) {
    const Step& step = kernel.steps[n];
    if (step.kind == StepKind::load) {
      ++uses[step.access.buffer];
      loads[n] = {n};
    } else if (step.kind == StepKind::contraction) {
      uses[step.contraction.left.buffer] += 2;
      uses[step.contraction.right.buffer] += 2;
    }
    for (const u32 input : step.inputs) loads[n].insert(loads[input].begin(), loads[input].end());
  }
  std::vector<std::pair<u32, u32>> pairs;
  for (const Output& output : kernel.outputs) {
    for (const u32 load : loads[output.step]) {
      const Access& from = kernel.steps[load].access;
      if (uses[from.buffer] == 1 && from.broadcast == Broadcast::none && from.map == output.access.map)
        pairs.push_back({from.buffer, output.access.buffer});
    }
  }
  return pairs;
}

}  // namespace

Program pack(const Schedule& schedule, std::span<const KernelSource> sources, std::vector<KernelImage> images) {
  Program program{std::move(images), schedule.buffers, {}, schedule.arena_bytes};
  for (const Schedule::Item& item : schedule.launches) {
    Launch launch = sources[item.kernel].work;
    launch.kernel = item.kernel, launch.label = item.label;
    launch.in_place = in_place(schedule.kernels[item.kernel]);
    for (u32 buffer : item.buffers) launch.args.push_back({LaunchArg::Kind::buffer, buffer});
    for (u32 number : schedule.kernels[item.kernel].custom.args) launch.args.push_back({.value = number});
    program.launches.push_back(std::move(launch));
  }
  return program;
}

namespace {

// The nodes of such a kernel get one slot less, which leaves room for what registers do not hold. When there is none to
// take away, the later half becomes a kernel of its own. False when there is no half.
bool narrow(const FusionPlan& plan, const KernelSpec& spec, SlotLimits& limits) {
  for (const PlannedKernel& kernel : plan.kernels) {
    if (kernel.spec != spec) continue;
    size_t most = kernel.nodes.empty() ? kFewestSlots : kMaxSlots;
    u32 parts = 0;
    for (u32 node : kernel.nodes) most = std::min(most, limits[node].most);
    for (const auto& [node, limit] : limits) parts = std::max(parts, limit.part + 1);
    const bool cut = most == kFewestSlots;
    if (cut && kernel.nodes.size() < 2) return false;
    for (size_t n = 0; n < kernel.nodes.size(); ++n) {
      SlotLimit& limit = limits[kernel.nodes[n]];
      limit.most = cut ? kMaxSlots : most - 1;
      if (cut && n >= kernel.nodes.size() / 2) limit.part = parts;
    }
  }
  return true;
}

}  // namespace

Plans plan(const Graph& graph) {
  SlotLimits limits;
  for (;;) {
    Plans plans{fuse(graph, limits), {}, {}};
    plans.schedule = schedule(plans.plan);
    for (const KernelSpec& kernel : plans.schedule.kernels) {
      try {
        plans.sources.push_back(emit(kernel));
      } catch (const KernelTooLarge&) {
        if (!narrow(plans.plan, kernel, limits)) throw;
      }
    }
    if (plans.sources.size() == plans.schedule.kernels.size()) return plans;
  }
}

Compiled compile(const Graph& graph) {
  const Plans plans = plan(graph);
  return {pack(plans.schedule, plans.sources, build_kernels(plans.sources)), output_slots(plans.plan)};
}

}  // namespace baretile::compiler
