#include "explain/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "compiler/custom/custom.h"

namespace baretile::compiler {

namespace {

using Out = std::back_insert_iterator<std::string>;

const char* name(Tiling tiling) { return tiling == Tiling::tile ? "tile" : tiling == Tiling::row ? "row" : "split"; }

std::string text_of(const std::vector<Digit>& digits, char index) {
  std::string text;
  for (const Digit& digit : digits) text += fmt::format(" {}{}*{}", index, digit.size, digit.stride);
  return text;
}

// @2 + i3*4 j2*1: buffer 2, page = i * 4 + j of a domain with 3 rows and 2 columns; a second i digit counts multiples
// of the first.
std::string text_of(const Access& access) {
  static constexpr const char* kBroadcast[] = {"", " repeat row", " repeat col", " repeat value"};
  std::string text = fmt::format("@{}", access.buffer);
  if (access.map.offset != 0) text += fmt::format(" {}", access.map.offset);
  text += text_of(access.map.batch, 'b') + text_of(access.map.row, 'i') + text_of(access.map.col, 'j');
  return text + kBroadcast[size_t(access.broadcast)];
}

std::string text_of(const Step& step) {
  switch (step.kind) {
    case StepKind::load:
      return fmt::format("load {}", text_of(step.access));
    case StepKind::constant:
      return fmt::format("{}", step.value);
    case StepKind::op:
      return fmt::format("{} %{}", step.op, fmt::join(step.inputs, " %"));
    case StepKind::reduce:
      return fmt::format("reduce {} %{}", step.op, fmt::join(step.inputs, " %"));
    case StepKind::contraction: {
      const Contraction& c = step.contraction;
      return fmt::format("contract {} tiles, {} phases: [{}]{} x [{}]{}", c.k_tiles, c.phases, text_of(c.left),
                         c.left_transposed ? " transposed" : "", text_of(c.right),
                         c.right_transposed ? " transposed" : "");
    }
  }
  return "?";
}

void print(Out out, const ComputeKernel& k) {
  fmt::format_to(out, "  domain batch {} tiles {}x{} elements {}x{}{}{}\n", k.batch, k.row_tiles, k.col_tiles, k.rows,
                 k.cols, k.one_row ? " one row" : "",
                 k.reduce == ReduceAxis::none   ? ""
                 : k.reduce == ReduceAxis::cols ? " reduce cols"
                                                : " reduce rows");
  for (size_t i = 0; i < k.steps.size(); ++i) fmt::format_to(out, "  %{} = {}\n", i, text_of(k.steps[i]));
  for (const Output& output : k.outputs)
    fmt::format_to(out, "  store %{} -> {}\n", output.step, text_of(output.access));
}

void print(Out out, const MoveKernel& m) {
  switch (m.kind) {
    case MoveKernel::Kind::gather_rows:
      fmt::format_to(out, "  gather rows @{} = @{}[@{}]\n", m.dst, m.src, m.index);
      return;
    case MoveKernel::Kind::scatter_rows:
      fmt::format_to(out, "  scatter rows @{}[@{}] = @{} box {} from {} strides {}\n", m.dst, m.index, m.src, m.sizes,
                     m.src_offset, m.src_strides);
      return;
    case MoveKernel::Kind::iota:
      fmt::format_to(out, "  iota @{}\n", m.dst);
      return;
    case MoveKernel::Kind::copy:
      fmt::format_to(out, "  copy @{} = @{} box {} from {} strides {} to {} strides {}{}\n", m.dst, m.src, m.sizes,
                     m.src_offset, m.src_strides, m.dst_offset, m.dst_strides, m.clear ? ", rest zero" : "");
  }
}

void print(Out out, const AttentionKernel& a) {
  fmt::format_to(out, "  batch {} queries {} keys {} tiles {}, {} scale {}{} {} phases\n", a.batch, a.queries, a.keys,
                 a.depth_tiles, a.width_tiles, a.scale, a.causal ? " causal" : "", a.phases);
  fmt::format_to(out, "  attention [{}] of [{}] [{}] [{}]{}\n", text_of(a.out), text_of(a.query), text_of(a.key),
                 text_of(a.value), a.masked ? fmt::format(" mask [{}]", text_of(a.mask)) : "");
}

void print(Out out, const CustomWork& work) {
  const CustomOperation& op = custom(work.number);
  fmt::format_to(out, "  custom kernel {}: {} items, arguments [{}]\n", op.name, work.args[0],
                 fmt::join(work.args.begin() + 1, work.args.end(), ", "));
  if (!work.after.steps.empty()) print(out, work.after);
}

void print(Out out, const BufferDesc& buffer) {
  fmt::format_to(out, "{} {} {} {} pages {}", to_string(buffer.shape), to_string(buffer.dtype), name(buffer.tiling),
                 buffer.pages,
                 buffer.external >= 0 ? fmt::format("external {}", buffer.external)
                                      : fmt::format("arena {:#x}", buffer.arena_offset));
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text;
  Out out(text);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    fmt::format_to(out, "%{} = {}", i, info(node.op).name);
    for (u32 input : node.inputs) fmt::format_to(out, " %{}", input);
    if (node.op == Op::constant) fmt::format_to(out, " {}", node.value);
    if (!node.attrs.empty()) fmt::format_to(out, " {}", node.attrs);
    fmt::format_to(out, " : {} {}\n", to_string(node.dtype), to_string(node.shape));
  }
  fmt::format_to(out, "outputs %{}\n", fmt::join(graph.outputs, " %"));
  return text;
}

std::string to_string(const KernelSpec& spec) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "kernel {}\n", spec.name);
  for (size_t i = 0; i < spec.buffers.size(); ++i) {
    const KernelBuffer& buffer = spec.buffers[i];
    fmt::format_to(out, "  @{}: {} {} {}\n", i, to_string(buffer.dtype), to_string(buffer.shape), name(buffer.tiling));
  }
  if (spec.kind == KernelKind::compute) print(out, spec.compute);
  if (spec.kind == KernelKind::move) print(out, spec.move);
  if (spec.kind == KernelKind::attention) print(out, spec.attention);
  if (spec.kind == KernelKind::custom) print(out, spec.custom);
  return text;
}

std::string to_string(const FusionPlan& plan) {
  static constexpr std::pair<Reason, const char*> kReasons[] = {
      {Reason::result, "it is a result"},
      {Reason::operand, "products take their operands from memory"},
      {Reason::whole, "its reader is a kernel of its own"},
      {Reason::moved, "the data-movement cores read it"},
      {Reason::rounded, "it is rounded where it is stored"},
      {Reason::view, "its reader sees it through a view that its tiles do not map to"},
      {Reason::shape, "its reader runs over another shape"},
      {Reason::axis, "its reader reduces along another axis"},
      {Reason::passes, "its reader takes it in more than one pass, a product is made once"},
      {Reason::left, "its reader has products of another left operand, or of another dtype on the right"},
      {Reason::dst, "Dst does not hold its reader's values as well"},
      {Reason::between, "another kernel needs it before its reader can run"},
      {Reason::copy, "its readers need whole pages in this order"}};
  std::string text;
  Out out(text);
  for (u32 number : launch_order(plan)) {
    const PlannedKernel& kernel = plan.kernels[number];
    fmt::format_to(out, "kernel {}\n", kernel.spec.name);
    for (u32 id : kernel.writes) {
      const Value& value = plan.values[id];
      std::vector<std::string_view> why;
      for (const auto& [reason, words] : kReasons) {
        if (value.reasons & u16(reason)) why.push_back(words);
      }
      if (why.empty()) why.push_back("its kernel takes in no other operation");
      fmt::format_to(out, "  leaves {} {} {}: {}\n", value.desc.name, to_string(value.desc.dtype),
                     to_string(value.desc.shape), fmt::join(why, "; "));
    }
  }
  return text;
}

std::string to_string(const Schedule& schedule) {
  std::string text;
  Out out(text);
  for (const KernelSpec& kernel : schedule.kernels) text += to_string(kernel);
  for (size_t i = 0; i < schedule.buffers.size(); ++i) {
    fmt::format_to(out, "buffer {}: ", i);
    print(out, schedule.buffers[i]);
    text += '\n';
  }
  for (const Schedule::Item& launch : schedule.launches) {
    fmt::format_to(out, "launch {} ({})\n", schedule.kernels[launch.kernel].name, fmt::join(launch.buffers, ", "));
  }
  fmt::format_to(out, "arena {} bytes a bank\n", schedule.arena_bytes);
  return text;
}

std::string to_string(const Program& program) {
  std::string text;
  Out out(text);
  for (const KernelImage& kernel : program.kernels) {
    fmt::format_to(out, "image {} {} bytes, entries {::#x}, key {}\n", kernel.name, kernel.code.size(), kernel.entry,
                   kernel.key);
  }
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    fmt::format_to(out, "buffer {}: ", i);
    print(out, program.buffers[i]);
    text += '\n';
  }
  for (const Launch& launch : program.launches) {
    fmt::format_to(out, "launch {} on {} tiles (", program.kernels[launch.kernel].name, launch.max_workers);
    for (size_t i = 0; i < launch.args.size(); ++i) {
      bool constant = launch.args[i].kind == LaunchArg::Kind::constant;
      fmt::format_to(out, "{}{}{}", i == 0 ? "" : ", ", constant ? "=" : "@", launch.args[i].value);
    }
    text += ")";
    if (launch.block_rows != 0)
      fmt::format_to(out, ", a team for {} x {} blocks", launch.block_rows, launch.block_columns);
    if (launch.beside >= 0) fmt::format_to(out, ", beside @{}", launch.args[size_t(launch.beside)].value);
    text += "\n";
  }
  return text;
}

}  // namespace baretile::compiler
