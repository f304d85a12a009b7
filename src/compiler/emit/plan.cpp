#include "compiler/emit/plan.h"

#include <algorithm>

#include "baretile/error.h"

namespace baretile::compiler {
namespace {

bool same(const std::vector<Digit>& a, const std::vector<Digit>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Digit& x, const Digit& y) { return x.size == y.size && x.stride == y.stride; });
}
bool same(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.map.offset == b.map.offset && same(a.map.batch, b.map.batch) &&
         same(a.map.row, b.map.row) && same(a.map.col, b.map.col);
}

Reach reach_of(const ComputeKernel& kernel) {
  Reach s{std::vector<u32>(kernel.steps.size(), 0), std::vector<bool>(kernel.steps.size(), false)};
  for (u32 n = 0; n < kernel.steps.size(); ++n) {
    const Step& step = kernel.steps[n];
    s.varies[n] = step.kind == StepKind::load || step.kind == StepKind::contraction;
    for (const u32 input : step.inputs) {
      s.depth[n] = std::max(s.depth[n], s.depth[input]);
      if (step.kind != StepKind::reduce && s.varies[input]) s.varies[n] = true;
    }
    if (step.kind == StepKind::reduce) ++s.depth[n];
  }
  return s;
}

// Loads and contractions that `step` needs, not looking behind reductions.
void collect(const ComputeKernel& kernel, u32 step, std::vector<bool>& seen) {
  if (seen[step]) return;
  seen[step] = true;
  if (kernel.steps[step].kind == StepKind::reduce) return;
  for (const u32 input : kernel.steps[step].inputs) collect(kernel, input, seen);
}

LeftKind left_kind(const KernelSpec& spec, const Contraction& c) {
  switch (spec.buffers[c.left.buffer].tiling) {
    case Tiling::tile:
      return c.left_transposed ? LeftKind::turned : LeftKind::tile;
    case Tiling::row:
      return LeftKind::row;
    default:
      return LeftKind::split;
  }
}

bool share_left(const KernelSpec& spec, const Contraction& a, const Contraction& b) {
  return same(a.left, b.left) && a.left_transposed == b.left_transposed && a.right_transposed == b.right_transposed &&
         a.k_tiles == b.k_tiles && a.phases == b.phases &&
         spec.buffers[a.right.buffer].dtype == spec.buffers[b.right.buffer].dtype;
}

void add_contraction(const Plan& plan, Stage& stage, u32 n) {
  const ComputeKernel& kernel = plan.kernel();
  const Contraction& c = kernel.steps[n].contraction;
  for (Product& p : stage.products) {
    if (share_left(plan.spec, *p.form, c)) {
      p.steps.push_back(n);
      return;
    }
  }
  Product p{{n}, &c, left_kind(plan.spec, c)};
  if (kernel.one_row != (p.left == LeftKind::row) && p.left != LeftKind::split)
    throw Unsupported(fmt::format("kernel {}: a left operand in {} pages does not suit a kernel of {}", plan.spec.name,
                                  p.left == LeftKind::row ? "row" : "tile", kernel.one_row ? "one row" : "full tiles"));
  p.fills = by_groups(kernel, p.left) && plan.left_groups() > 4 ? 2 : 1;
  p.rows = kernel.one_row ? 16 : 64 * p.fills;
  stage.products.push_back(std::move(p));
}

// `targets`: the steps whose values the stage makes.
void fill_stage(const Plan& plan, Stage& stage, const std::vector<u32>& targets) {
  const ComputeKernel& kernel = plan.kernel();
  std::vector<bool> seen(kernel.steps.size(), false);
  for (const u32 t : targets) {
    if (kernel.steps[t].kind == StepKind::reduce &&
        std::find(stage.reduces.begin(), stage.reduces.end(), t) != stage.reduces.end()) {
      collect(kernel, kernel.steps[t].inputs[0], seen);
    } else {
      collect(kernel, t, seen);
    }
  }
  for (u32 n = 0; n < kernel.steps.size(); ++n) {
    if (!seen[n]) continue;
    if (kernel.steps[n].kind == StepKind::load) stage.loads.push_back(n);
    if (kernel.steps[n].kind == StepKind::contraction) add_contraction(plan, stage, n);
  }
  std::stable_partition(stage.loads.begin(), stage.loads.end(), [&](u32 n) { return !plan.wide_load(n); });
}

u32 rows_of(const ComputeKernel& kernel) { return kernel.one_row ? 8 : 64; }

void check(const KernelSpec& spec) {
  const auto check_operand = [&](const Access& access) {
    if (is_integer(spec.buffers.at(access.buffer).dtype))
      throw Unsupported(fmt::format("kernel {}: the matrix unit would multiply integers of buffer {}; cast to fp32",
                                    spec.name, access.buffer));
  };
  for (const Step& step : spec.compute.steps) {
    if (step.kind == StepKind::load && spec.buffers[step.access.buffer].tiling == Tiling::split)
      throw Unsupported(fmt::format("kernel {}: buffer {} is split, which only a contraction's left operand may be",
                                    spec.name, step.access.buffer));
    if (step.kind != StepKind::contraction) continue;
    check_operand(step.contraction.left);
    check_operand(step.contraction.right);
  }
}

}  // namespace

u32 Plan::left_groups() const { return std::min(8u, u32(ceil_div(kernel().rows, 4))); }

Plan make_plan(const KernelSpec& spec, const Block& block, u64 l1_bytes) {
  check(spec);
  const ComputeKernel& kernel = spec.compute;
  Plan plan{spec, block, block_grid(kernel, block), rows_of(kernel)};
  plan.items = kernel.batch * (kernel.reduce == ReduceAxis::rows ? 1 : kernel.row_tiles / block.rows) *
               (kernel.reduce == ReduceAxis::cols ? 1 : kernel.col_tiles / block.columns);
  plan.beside = kernel.one_row;
  for (const Step& step : kernel.steps)
    plan.beside &= step.kind != StepKind::contraction || step.contraction.right_transposed;
  plan.shape = reach_of(kernel);
  const Reach& shape = plan.shape;
  std::vector<u32> tile_outputs, reduced_outputs;
  u32 passes = 0;
  for (u32 n = 0; n < kernel.steps.size(); ++n) {
    if (kernel.steps[n].kind == StepKind::reduce) passes = std::max(passes, shape.depth[n]);
  }
  for (u32 o = 0; o < kernel.outputs.size(); ++o) {
    (plan.reduced(kernel.outputs[o]) ? reduced_outputs : tile_outputs).push_back(o);
  }
  for (u32 pass = 0; pass < passes; ++pass) {
    Stage stage{true};
    for (u32 n = 0; n < kernel.steps.size(); ++n) {
      if (kernel.steps[n].kind == StepKind::reduce && shape.depth[n] == pass + 1) stage.reduces.push_back(n);
    }
    fill_stage(plan, stage, stage.reduces);
    plan.stages.push_back(std::move(stage));
  }
  const auto add_output_stage = [&](bool looped, const std::vector<u32>& outputs) {
    if (outputs.empty()) return;
    Stage stage{looped};
    stage.outputs = outputs;
    std::vector<u32> targets;
    for (const u32 o : outputs) targets.push_back(kernel.outputs[o].step);
    fill_stage(plan, stage, targets);
    plan.stages.push_back(std::move(stage));
  };
  add_output_stage(kernel.reduce != ReduceAxis::none, tile_outputs);
  add_output_stage(false, reduced_outputs);
  for (const Output& output : kernel.outputs) plan.output_slot = std::max(plan.output_slot, plan.bytes(output.access));
  for (const Stage& stage : plan.stages) {
    for (const Product& p : stage.products) {
      if (!by_groups(kernel, p.left)) plan.run = std::max(plan.run, std::min(p.form->k_tiles, abi::kRunPages));
    }
  }
  size_slots(plan, l1_bytes);
  return plan;
}

Padding zero_padding(const KernelSpec& spec) {
  const ComputeKernel& kernel = spec.compute;
  Padding p{std::vector<bool>(kernel.steps.size(), false), std::vector<bool>(kernel.steps.size(), false)};
  // A part of a larger matrix may go on where ours ends.
  const auto ends = [&](const Access& access, size_t axis_from_last, u32 size) {
    const std::vector<i64>& shape = spec.buffers[access.buffer].shape;
    return shape.size() >= axis_from_last && shape[shape.size() - axis_from_last] == size;
  };
  for (u32 n = 0; n < kernel.steps.size(); ++n) {
    const Step& step = kernel.steps[n];
    switch (step.kind) {
      case StepKind::load: {
        const Broadcast b = step.access.broadcast;
        p.rows[n] = (b == Broadcast::none || b == Broadcast::col) && ends(step.access, 2, kernel.rows);
        p.cols[n] = (b == Broadcast::none || b == Broadcast::row) && ends(step.access, 1, kernel.cols);
        break;
      }
      case StepKind::constant:
        p.rows[n] = p.cols[n] = word_of(step.value, step.integer) == 0;  // -0 is something
        break;
      case StepKind::contraction: {
        const Contraction& c = step.contraction;
        p.rows[n] = left_kind(spec, c) != LeftKind::split &&  // these leave old rows beyond the matrix
                    ends(c.left, c.left_transposed ? 1 : 2, kernel.rows);
        p.cols[n] = ends(c.right, c.right_transposed ? 2 : 1, kernel.cols);
        break;
      }
      case StepKind::op: {
        const auto all = [&](const std::vector<bool>& zero) {
          return keeps_zero(step.op) &&
                 std::all_of(step.inputs.begin(), step.inputs.end(), [&](u32 input) { return zero[input]; });
        };
        p.rows[n] = all(p.rows);
        p.cols[n] = all(p.cols);
        break;
      }
      case StepKind::reduce:
        break;
    }
  }
  return p;
}

}  // namespace baretile::compiler
