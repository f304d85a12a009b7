#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/emit/emit.h"
#include "compiler/emit/plan.h"

namespace baretile::compiler {

void size_slots(Plan& plan, u64 l1_bytes) {
  // Slots that hold what is still to come; without a team pages are asked for in groups of four (Reader::kGroup).
  const u32 ahead = plan.block.team ? abi::kTeamAhead : 4;
  for (;; plan.run /= 2) {
    plan.input_slot = 64;
    std::vector<std::pair<std::string, u64>> uses;  // of the input ring, in slots: what T0 holds until it frees it
    const auto hold = [&](const char* what, const Access& access, u32 slots, u32 pages) {
      const KernelBuffer& b = plan.buffer(access);
      plan.input_slot = std::max(plan.input_slot, pages * plan.bytes(access));
      uses.push_back({fmt::format("{}, {}: {} in {}, {} slots of {} pages", what,
                                  b.name.empty() ? fmt::format("argument {}", access.buffer) : b.name,
                                  fmt::join(b.shape, "x"), format_name(b).substr(8), slots, pages),
                      slots});
    };
    for (const Stage& stage : plan.stages) {
      for (const Product& p : stage.products) {
        hold("left operand", p.form->left, by_groups(plan.kernel(), p.left) ? plan.left_groups() : 1,
             plan.run * plan.block.rows);
        for (const u32 step : p.steps)
          hold("right operand", plan.kernel().steps[step].contraction.right, 1, plan.run * plan.block.columns);
      }
      for (const u32 step : stage.loads) hold("loaded", plan.kernel().steps[step].access, 1, 1);
    }
    uses.push_back({fmt::format("input to come, {} slots", ahead), ahead});
    for (auto& [what, bytes] : uses) bytes *= plan.input_slot;
    uses.push_back({"output ring", abi::kOutputRingBytes});
    uses.push_back({"firmware and the code of kernels", abi::kData});
    u64 sum = 0;
    std::string table;
    for (const auto& [what, bytes] : uses) sum += bytes, table += fmt::format("\n{:>9}  {}", bytes, what);
    if (sum <= l1_bytes) return;
    if (plan.run == 1)
      throw KernelTooLarge(
          fmt::format("kernel {} needs {} bytes of a tile's L1, which has {}; it must be split. "
                      "It needs them for{}",
                      plan.spec.name, sum, l1_bytes, table));
  }
}

}  // namespace baretile::compiler
