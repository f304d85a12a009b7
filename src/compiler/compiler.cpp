#include "compiler/compiler.h"

#include "compiler/emit/emit.h"

namespace baretile::compiler {

std::vector<u32> output_slots(const FusionPlan& plan) {
  std::vector<u32> slots;
  for (u32 value : plan.outputs) slots.push_back(u32(plan.values[root_of(plan, value)].desc.external));
  return slots;
}

std::vector<KernelSource> emit_all(const Schedule& schedule) {
  std::vector<KernelSource> sources;
  for (const KernelSpec& kernel : schedule.kernels) sources.push_back(emit(kernel));
  return sources;
}

Program pack(const Schedule& schedule, std::vector<KernelImage> images) {
  Program program{std::move(images), schedule.buffers, {}, schedule.arena_bytes};
  std::vector<u32> workers;
  for (const KernelSpec& kernel : schedule.kernels) workers.push_back(max_workers(kernel));
  for (const Schedule::Item& item : schedule.launches) {
    Launch launch{item.kernel, workers[item.kernel], {}, item.label};
    for (u32 buffer : item.buffers) launch.args.push_back({LaunchArg::Kind::buffer, buffer});
    program.launches.push_back(std::move(launch));
  }
  return program;
}

Compiled compile(const Graph& graph) {
  for (size_t slots = kMaxSlots;; --slots) {
    const FusionPlan plan = fuse(graph, slots);
    const Schedule scheduled = schedule(plan);
    try {
      const std::vector<KernelSource> sources = emit_all(scheduled);
      return {pack(scheduled, build_kernels(sources)), output_slots(plan)};
    } catch (const DstFull&) {
      if (slots == kFewestSlots) throw;  // smaller kernels, with room for what registers do not hold
    }
  }
}

}  // namespace baretile::compiler
