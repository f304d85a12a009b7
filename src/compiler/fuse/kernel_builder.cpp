#include "compiler/fuse/kernel_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "compiler/custom/custom.h"

namespace baretile::compiler {

KernelBuilder::KernelBuilder(Lowering& lowering, const Cluster& cluster)
    : lowering_(lowering), a_(lowering.analysis()) {
  ComputeKernel& k = kernel_.spec.compute;
  const Extents& e = cluster.domain;
  Extents grid = page_grid(e, Tiling::tile);
  k.batch = u32(grid.batch);
  k.row_tiles = u32(grid.rows);
  k.col_tiles = u32(grid.cols);
  k.rows = u32(e.rows);
  k.cols = u32(e.cols);
  k.one_row = e.rows == 1;
  k.reduce = cluster.axis;
}

u32 local_buffer(const FusionPlan& plan, PlannedKernel& kernel, u32 value) {
  auto found = std::find(kernel.values.begin(), kernel.values.end(), value);
  if (found != kernel.values.end()) return u32(found - kernel.values.begin());
  const BufferDesc& desc = plan.values[value].desc;
  Extents e = extents(desc.shape);  // kernels see matrices: equal work is one kernel whatever the ranks
  kernel.values.push_back(value);
  kernel.spec.buffers.push_back({desc.dtype, desc.tiling, {e.batch, e.rows, e.cols}, desc.name});
  return u32(kernel.values.size() - 1);
}

Access KernelBuilder::access(u32 value, Access pages) {
  pages.buffer = local_buffer(lowering_.plan(), kernel_, value);
  return pages;
}

u32 KernelBuilder::add(Step step) {
  kernel_.spec.compute.steps.push_back(std::move(step));
  return u32(kernel_.spec.compute.steps.size() - 1);
}

template <typename Make>
u32 KernelBuilder::once(u32 node, const std::vector<u32>& chain, bool is_member, Make make) {
  for (const Known& known : known_) {
    if (known.node == node && known.is_member == is_member && known.chain == chain) return known.step;
  }
  u32 step = make();
  known_.push_back({node, chain, is_member, step});
  return step;
}

namespace {

// Integers and floats (booleans too) are different words in Dst; among floats a dtype is only how a value is stored.
std::string conversion(DType from, DType to) {
  if (is_integer(from) == is_integer(to)) return "";
  if (is_integer(to)) return to == DType::int32 ? "int_from_float" : "uint_from_float";
  return from == DType::int32 ? "float_from_int" : "float_from_uint";
}

double within(DType dtype, double value) {
  if (!is_integer(dtype)) return value;
  return dtype == DType::int32 ? std::clamp<double>(value, INT32_MIN, INT32_MAX)
                               : std::clamp<double>(value, 0, UINT32_MAX);
}

}  // namespace

template <typename Input>
u32 KernelBuilder::arithmetic(u32 node, Input input) {
  const Node& n = a_.graph.nodes[node];
  std::vector<u32> inputs;
  for (u32 i : n.inputs) inputs.push_back(input(i));
  const DType operands = a_.graph.nodes[n.inputs.back()].dtype;
  const bool cast = a_.family(node) == Family::cast, reduction = a_.family(node) == Family::reduce;
  const OpRow& row = info(n.op);
  const std::string word = a_.family(node) == Family::custom ? custom(u32(n.attrs[0])).name : row.name;
  const std::string name = cast ? conversion(operands, n.dtype)
                                : (reduction ? row.fold : word) + std::string(header_ending(row.kind, operands));
  if (name.empty()) return inputs[0];
  words_.push_back(word);
  return add({.kind = reduction ? StepKind::reduce : StepKind::op,
              .op = name,
              .inputs = inputs,
              .value = within(operands, row.identity),
              .integer = is_integer(operands)});
}

u32 KernelBuilder::member(u32 node) {
  return once(node, {}, true, [&] {
    if (a_.family(node) == Family::contraction) return contraction(node);
    return arithmetic(node, [&](u32 i) { return a_.internal(node, i) ? member(a_.sources[i].base) : outside(i, {}); });
  });
}

u32 KernelBuilder::outside(u32 input, const std::vector<u32>& outer) {
  const Source& source = a_.sources[input];
  const u32 base = source.base;
  if (a_.family(base) == Family::constant) {
    return once(base, {}, false, [&] {
      const Node& n = a_.graph.nodes[base];
      return add({.kind = StepKind::constant, .value = n.value, .integer = is_integer(n.dtype)});
    });
  }
  std::vector<u32> chain = source.chain;
  chain.insert(chain.end(), outer.begin(), outer.end());
  return once(base, chain, false, [&] {
    if (lowering_.placement().stored(base)) return load(base, outer.empty() ? input : outer.back(), chain);
    return arithmetic(base, [&](u32 i) { return outside(i, chain); });
  });
}

// `node` through `chain`, which ends in the shape of the node `seen`.
u32 KernelBuilder::load(u32 node, u32 seen, const std::vector<u32>& chain) {
  const auto& nodes = a_.graph.nodes;
  const Extents e = extents(nodes[seen].shape);
  auto pages_of = [&](u32 node, const std::vector<u32>& through) {
    auto view = a_.view_through(node, through, nodes[seen].shape);
    return page_access(*view, e, {extents(nodes[node].shape), default_tiling(nodes[node].shape)});
  };
  auto pages = pages_of(node, chain);
  if (!pages) {  // copy the view, but not its repetitions
    size_t kept = chain.size();
    while (kept > 1 && element_count(nodes[chain[kept - 1]].shape) > element_count(nodes[chain[kept - 2]].shape))
      --kept;
    node = chain[kept - 1];
    pages = pages_of(node, {chain.begin() + i64(kept), chain.end()});
    if (!pages) {
      node = seen;
      pages = pages_of(node, {});
    }
  }
  return add({.kind = StepKind::load, .access = access(lowering_.value(node), *pages)});
}

u32 KernelBuilder::contraction(u32 node) {
  const Node& n = a_.graph.nodes[node];
  Operand left = lowering_.placement().operand(node, 0), right = lowering_.placement().operand(node, 1);
  Contraction c;
  c.left = access(lowering_.value(left.node, left.tiling), left.access);
  c.right = access(lowering_.value(right.node, right.tiling), right.access);
  c.left_transposed = left.transposed;
  c.right_transposed = right.transposed;
  c.k_tiles = u32(ceil_div(u64(a_.graph.nodes[n.inputs[0]].shape.back()), 32));
  // A phase takes five bits of a right value and seven of a left one; what has no more needs no more phases.
  const u32 of_left = left.tiling == Tiling::split || a_.in_blocks(left.node) ? 1 : 2;
  const u32 of_right = a_.graph.nodes[right.node].dtype == DType::bfp4 ? 1 : 2;
  c.phases = std::min(u32(n.attrs[0]), of_left * of_right);
  words_.push_back(info(n.op).name);
  return add({.kind = StepKind::contraction, .contraction = c});
}

void KernelBuilder::output(u32 node, u32 value) {
  const BufferDesc& desc = lowering_.plan().values[value].desc;
  Extents e = extents(desc.shape);
  Access pages = page_access(contiguous({e.batch, e.rows, e.cols}), e, {e, desc.tiling}).value();
  u32 step = member(node);
  kernel_.spec.compute.outputs.push_back({step, access(value, pages)});
  kernel_.writes.push_back(value);
}

PlannedKernel KernelBuilder::finish() {
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  if (words_.empty()) words_.push_back("convert");
  if (words_.size() > 5) words_.erase(words_.begin() + 3, words_.end() - 2);
  const ComputeKernel& k = kernel_.spec.compute;
  kernel_.spec.name = fmt::format("{}_{}x{}x{}", fmt::join(words_, "_"), k.batch, k.rows, k.cols);
  return std::move(kernel_);
}

namespace {

// A kernel whose only output is its only step.
void single_step(FusionPlan& plan, const char* word, Step step, i64 from, u32 to) {
  PlannedKernel kernel;
  const BufferDesc& desc = plan.values[to].desc;
  Extents e = extents(desc.shape), grid = page_grid(e, Tiling::tile);
  if (from >= 0) step.access.buffer = local_buffer(plan, kernel, u32(from));
  ComputeKernel& k = kernel.spec.compute;
  k = {u32(grid.batch), u32(grid.rows),   u32(grid.cols),    u32(e.rows), u32(e.cols),
       e.rows == 1,     ReduceAxis::none, {std::move(step)}, {}};
  Access pages = page_access(contiguous({e.batch, e.rows, e.cols}), e, {e, desc.tiling}).value();
  pages.buffer = local_buffer(plan, kernel, to);
  k.outputs = {{0, pages}};
  kernel.writes = {to};
  kernel.spec.name = fmt::format("{}_{}x{}x{}", word, k.batch, k.rows, k.cols);
  plan.kernels.push_back(std::move(kernel));
}

}  // namespace

void copy_pages(FusionPlan& plan, u32 from, const Access& access, u32 to) {
  single_step(plan, "convert", {.kind = StepKind::load, .access = access}, from, to);
}

void fill(FusionPlan& plan, double number, u32 to) {
  const bool integer = is_integer(plan.values[to].desc.dtype);
  single_step(plan, "fill", {.kind = StepKind::constant, .value = number, .integer = integer}, -1, to);
}

void copy_elements(FusionPlan& plan, u32 from, const Box& box, u32 to) {
  PlannedKernel kernel;
  kernel.spec.kind = KernelKind::move;
  MoveKernel& move = kernel.spec.move;
  move.kind = MoveKernel::Kind::copy;
  move.src = local_buffer(plan, kernel, from);
  move.dst = local_buffer(plan, kernel, to);
  move.src_offset = box.view.offset;
  move.dst_offset = box.offset;
  move.clear = box.clear;
  for (size_t axis = box.view.axes.size(); axis-- > 0;) {
    i64 stride = box.axis_strides[axis];
    for (Digit digit : box.view.axes[axis]) {
      move.sizes.push_back(digit.size);
      move.src_strides.push_back(digit.stride);
      move.dst_strides.push_back(stride);
      stride *= digit.size;
    }
  }
  std::reverse(move.sizes.begin(), move.sizes.end());  // outermost first
  std::reverse(move.src_strides.begin(), move.src_strides.end());
  std::reverse(move.dst_strides.begin(), move.dst_strides.end());
  kernel.writes = {to};
  kernel.spec.name = fmt::format("copy_{}", fmt::join(move.sizes, "x"));
  plan.kernels.push_back(std::move(kernel));
}

}  // namespace baretile::compiler
