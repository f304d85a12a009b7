#include "compiler/fuse/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/fuse/kernel_builder.h"

namespace baretile::compiler {

namespace {

View plain_view(const Shape& shape) {
  Extents e = extents(shape);
  return contiguous({e.batch, e.rows, e.cols});
}

}  // namespace

FusionPlan fuse(const Graph& graph, const SlotLimits& limits) {
  Graph simple = simplify(graph);
  Analysis analysis(simple);
  find_clusters(analysis, limits);
  Placement placement(analysis);
  return Lowering(analysis, placement).run();
}

FusionPlan Lowering::run() {
  const auto& nodes = a_.graph.nodes;
  for (u32 node = 0; node < nodes.size(); ++node) {
    if (a_.family(node) == Family::external) {
      u32 id = value(node);
      plan_.values[id].desc.external = i32(nodes[node].attrs[0]);
    } else if (a_.family(node) == Family::iota) {
      lower_iota(node);
    } else if (a_.family(node) == Family::gather) {
      lower_gather(node);
    } else if (a_.family(node) == Family::scatter) {
      lower_scatter(node);
    } else if (a_.family(node) == Family::join) {
      lower_join(node);
    } else if (a_.family(node) == Family::whole) {
      nodes[node].op == Op::attention ? lower_attention(node) : lower_custom(node);
    }
  }
  for (const Cluster& cluster : a_.clusters) lower_cluster(cluster);
  std::vector<u32> given;
  for (u32 node : a_.graph.outputs) {
    u32 id = in_own_order(node);
    bool taken = std::find(given.begin(), given.end(), id) != given.end();
    if (taken || plan_.values[id].desc.external >= 0) {
      u32 copy = new_value(nodes[node], default_tiling(nodes[node].shape));
      copy_view(node, copy);
      id = copy;
    }
    given.push_back(id);
  }
  plan_.outputs = given;
  fuse_after_custom(plan_);
  order_versions(plan_);
  number_externals();
  return std::move(plan_);
}

u32 Lowering::new_value(const Node& node, Tiling tiling, i32 alias_of) {
  u32 id = u32(plan_.values.size());
  plan_.values.push_back({{.name = fmt::format("v{}", id),
                           .shape = node.shape,
                           .dtype = node.dtype,
                           .tiling = tiling,
                           .pages = page_count(node.shape, tiling)},
                          alias_of,
                          0});
  return id;
}

u32 Lowering::value(u32 node, Tiling tiling) {
  auto found = values_.find({node, tiling});
  if (found != values_.end()) return found->second;
  const Tiling usual = default_tiling(a_.graph.nodes[node].shape);
  Family f = a_.family(node);
  u32 id;
  if (tiling != usual && !(a_.computed(node) && placement_.wants(node, tiling))) {
    id = copy_value(plan_, value(node, usual), tiling);
  } else {
    id = new_value(a_.graph.nodes[node], tiling);
    if (f == Family::view || f == Family::constant) copy_view(node, id);
  }
  values_[{node, tiling}] = id;
  return id;
}

void Lowering::copy_view(u32 node, u32 to) {
  plan_.values[to].reasons |= u16(Reason::copy);
  const Source& source = a_.sources[node];
  const Node& base = a_.graph.nodes[source.base];
  if (a_.family(source.base) == Family::constant) return fill(plan_, base.value, to);
  auto pages = page_access(source.view, source.seen, {extents(base.shape), default_tiling(base.shape)});
  u32 from = value(source.base);
  if (pages) return copy_pages(plan_, from, *pages, to);
  if (a_.in_blocks(source.base)) from = value(source.chain[0]);  // bf16
  const Extents& seen = source.seen;
  copy_elements(plan_, from, {source.view, {seen.rows * seen.cols, seen.cols, 1}}, to);
}

u32 copy_value(FusionPlan& plan, u32 from, Tiling tiling) {
  BufferDesc desc = plan.values[from].desc;
  Extents e = extents(desc.shape);
  auto pages = page_access(plain_view(desc.shape), e, {e, desc.tiling}).value();
  bool by_pages = tiling == desc.tiling || tiling == Tiling::split;
  desc.tiling = tiling;
  desc.pages = page_count(desc.shape, tiling);
  desc.external = -1;
  u32 to = u32(plan.values.size());
  desc.name = fmt::format("v{}", to);
  plan.values.push_back({desc, -1, u16(Reason::copy)});
  if (by_pages) {
    copy_pages(plan, from, pages, to);
  } else {
    copy_elements(plan, from, {plain_view(desc.shape), {e.rows * e.cols, e.cols, 1}}, to);
  }
  return to;
}

u32 Lowering::in_own_order(u32 node, Tiling tiling) {
  const Source& source = a_.sources[node];
  bool own = source.relation == Relation::same && a_.family(source.base) != Family::constant &&
             (node == source.base || !a_.in_blocks(source.base));
  return value(own ? source.base : node, tiling);
}

void Lowering::lower_cluster(const Cluster& cluster) {
  KernelBuilder builder(*this, cluster);
  bool any = false;
  for (u32 node : cluster.members) {
    for (Tiling tiling : {Tiling::tile, Tiling::row, Tiling::split}) {
      if (!placement_.wants(node, tiling)) continue;
      any = true;
      const u32 to = value(node, tiling);
      plan_.values[to].reasons |= reasons(a_, node);
      builder.output(node, to);
    }
  }
  if (!any) return;
  plan_.kernels.push_back(builder.finish());
  plan_.kernels.back().nodes = cluster.members;
}

void Lowering::lower_iota(u32 node) {
  const u32 to = value(node);
  PlannedKernel kernel;
  kernel.spec.kind = KernelKind::move;
  kernel.spec.move.kind = MoveKernel::Kind::iota;
  kernel.spec.move.src = kernel.spec.move.dst = local_buffer(plan_, kernel, to);
  kernel.writes = {to};
  kernel.nodes = {node};
  kernel.spec.name = fmt::format("iota_{}", element_count(a_.graph.nodes[node].shape));
  plan_.kernels.push_back(std::move(kernel));
}

void Lowering::lower_gather(u32 node) {
  const Node& n = a_.graph.nodes[node];
  PlannedKernel kernel;
  kernel.spec.kind = KernelKind::move;
  MoveKernel& move = kernel.spec.move;
  move.kind = MoveKernel::Kind::gather_rows;
  move.src = local_buffer(plan_, kernel, in_own_order(n.inputs[0]));
  move.index = local_buffer(plan_, kernel, in_own_order(n.inputs[1]));
  u32 to = value(node);
  move.dst = local_buffer(plan_, kernel, to);
  kernel.writes = {to};
  kernel.nodes = {node};
  kernel.spec.name = fmt::format("{}_{}x{}", info(n.op).name, n.shape[0], n.shape[1]);
  plan_.kernels.push_back(std::move(kernel));
}

void Lowering::lower_scatter(u32 node) {
  const Node& n = a_.graph.nodes[node];
  u32 old = in_own_order(n.inputs[0]);
  u32 target = a_.sources[n.inputs[0]].base;
  auto writes_it = [&](Use use) {
    return a_.family(use.node) == Family::scatter && a_.sources[a_.graph.nodes[use.node].inputs[0]].base == target;
  };
  bool wanted = std::any_of(a_.graph.outputs.begin(), a_.graph.outputs.end(),
                            [&](u32 o) { return a_.sources[o].base == target; });
  if (n.attrs[0] != 0 || wanted || std::count_if(a_.users[target].begin(), a_.users[target].end(), writes_it) > 1) {
    old = copy_value(plan_, old, plan_.values[old].desc.tiling);
  }
  const Source* from = &a_.sources[n.inputs[1]];
  View view = from->view;
  u32 base = from->base;
  auto single = [](const std::vector<Digit>& axis) { return axis.size() <= 1; };
  if (a_.family(base) == Family::constant || a_.in_blocks(base) ||
      !std::all_of(view.axes.begin(), view.axes.end(), single)) {
    base = n.inputs[1];
    view = plain_view(a_.graph.nodes[base].shape);
  }
  PlannedKernel kernel;
  kernel.spec.kind = KernelKind::move;
  MoveKernel& move = kernel.spec.move;
  move.kind = MoveKernel::Kind::scatter_rows;
  move.src = local_buffer(plan_, kernel, value(base));
  move.index = local_buffer(plan_, kernel, in_own_order(n.inputs[2]));
  u32 to = new_value(n, plan_.values[old].desc.tiling, i32(old));
  values_[{node, plan_.values[to].desc.tiling}] = to;
  move.dst = local_buffer(plan_, kernel, to);
  move.sizes = {u32(from->seen.batch), u32(from->seen.rows), u32(from->seen.cols)};
  for (const auto& axis : view.axes) move.src_strides.push_back(axis.empty() ? 0 : axis[0].stride);
  move.src_offset = view.offset;
  kernel.writes = {to};
  kernel.nodes = {node};
  kernel.spec.name = fmt::format("{}_{}", info(n.op).name, fmt::join(move.sizes, "x"));
  plan_.kernels.push_back(std::move(kernel));
}

void Lowering::lower_join(u32 node) {
  const Node& n = a_.graph.nodes[node];
  size_t axis = size_t(n.attrs[0]);
  i64 inner = 1, outer = 1, at = 0;
  for (size_t i = 0; i < n.shape.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : n.shape[i];
  i32 before = -1;
  for (u32 input : n.inputs) {
    const Source& source = a_.sources[input];
    bool copied = a_.family(source.base) == Family::constant || a_.in_blocks(source.base);
    i64 length = a_.graph.nodes[input].shape[axis];
    u32 from = value(copied ? input : source.base);
    View view = copied ? plain_view(a_.graph.nodes[input].shape) : source.view;
    u32 to = new_value(n, default_tiling(n.shape), before);
    auto box = reshaped(view, {outer, length * inner});
    if (!box) {  // the piece's own axes do not divide that way
      from = value(input);
      box = contiguous({outer, length * inner});
    }
    copy_elements(plan_, from, {*box, {n.shape[axis] * inner, 1}, at * inner, before < 0}, to);
    before = i32(to);
    at += length;
  }
  values_[{node, default_tiling(n.shape)}] = u32(before);
}

void Lowering::lower_attention(u32 node) {
  const Node& n = a_.graph.nodes[node];
  PlannedKernel kernel;
  const auto operand = [&](size_t input, bool tiles, Needs needs) {
    u32 from = n.inputs[input];
    const Source& source = a_.sources[from];
    const auto pages = [&](u32 base, const View& view, Needs needs) {
      const Shape& shape = a_.graph.nodes[base].shape;
      return page_access(view, source.seen, {extents(shape), tiles ? Tiling::tile : default_tiling(shape)}, needs);
    };
    const bool copied = a_.family(source.base) == Family::constant || a_.in_blocks(source.base);
    auto access = copied ? std::nullopt : pages(source.base, source.view, needs);
    if (access && (access->broadcast == Broadcast::none || access->broadcast == Broadcast::row)) {
      from = source.base;
    } else {
      access = pages(from, plain_view(a_.graph.nodes[from].shape), {});
    }
    access->buffer = local_buffer(plan_, kernel, tiles ? value(from, Tiling::tile) : value(from));
    return *access;
  };
  const Extents e = extents(n.shape), keys = extents(a_.graph.nodes[n.inputs[1]].shape);
  kernel.spec.kind = KernelKind::attention;
  kernel.nodes = {node};
  AttentionKernel& a = kernel.spec.attention;
  a.query = operand(0, false, {.zero_cols = true, .broadcast = false});
  a.key = operand(1, true, {.zero_cols = true, .broadcast = false});
  a.value = operand(2, true, {.zero_cols = true, .zero_rows = true, .broadcast = false});
  a.masked = n.inputs.size() > 3;
  if (a.masked) a.mask = operand(3, false, {.zero_cols = true});
  const u32 to = value(node);
  a.out = page_access(plain_view(n.shape), e, {e, default_tiling(n.shape)}).value();
  a.out.buffer = local_buffer(plan_, kernel, to);
  a.batch = u32(e.batch), a.queries = u32(e.rows), a.keys = u32(keys.rows);
  a.depth_tiles = u32(ceil_div(u64(keys.cols), 32)), a.width_tiles = u32(ceil_div(u64(e.cols), 32));
  a.phases = u32(n.attrs[0]), a.causal = n.attrs[1] != 0, a.scale = n.value;
  kernel.writes = {to};
  kernel.spec.name = fmt::format("attention_{}x{}x{}", a.batch, a.queries, a.keys);
  plan_.kernels.push_back(std::move(kernel));
}

// Outputs come after the graph's externals; a value written in place lies where its first version lay.
void Lowering::number_externals() {
  i32 next = 0;
  for (const Value& value : plan_.values) next = std::max(next, value.desc.external + 1);
  for (u32 output : plan_.outputs) {
    i32& external = plan_.values[root_of(plan_, output)].desc.external;
    if (external < 0) external = next++;
  }
}

}  // namespace baretile::compiler
