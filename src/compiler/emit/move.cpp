#include "compiler/emit/move.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "baretile/error.h"

namespace baretile::compiler {
namespace {

u64 rows_of(const KernelBuffer& b) { return b.shape.size() < 2 ? 1 : u64(b.shape[b.shape.size() - 2]); }
u64 cols_of(const KernelBuffer& b) { return b.shape.empty() ? 1 : u64(b.shape.back()); }
u64 elements_of(const KernelBuffer& b) {
  return std::accumulate(b.shape.begin(), b.shape.end(), u64{1}, [](u64 n, i64 size) { return n * u64(size); });
}
u64 pages_of(const KernelBuffer& b) {
  return elements_of(b) / (rows_of(b) * cols_of(b)) * ceil_div(rows_of(b), b.tiling == Tiling::tile ? 32 : 1) *
         ceil_div(cols_of(b), 32);
}

std::string stored(const KernelSpec& spec, u32 buffer) {
  const KernelBuffer& b = spec.buffers.at(buffer);
  if (b.tiling == Tiling::split)
    throw Unsupported(fmt::format("kernel {}: buffer {} is split, which no move reads or writes", spec.name, buffer));
  if (is_block(b.dtype))
    throw Unsupported(fmt::format("kernel {}: buffer {} has no elements of its own that a move could take; cast it",
                                  spec.name, buffer));
  if (elements_of(b) >> 31)
    throw Unsupported(fmt::format("kernel {}: buffer {} has {} elements, more than a move counts", spec.name, buffer,
                                  elements_of(b)));
  return fmt::format("Stored<{}, {}, {}, {}>", dtype_bytes(b.dtype), b.tiling == Tiling::tile, rows_of(b), cols_of(b));
}

struct Axis {
  u32 size;
  i64 from, to;
};

// The box's axes by falling destination stride, the last with stride 1.
std::vector<Axis> sorted_axes(const KernelSpec& spec) {
  const MoveKernel& m = spec.move;
  std::vector<Axis> axes;
  for (size_t n = 0; n < m.sizes.size(); ++n) {
    if (m.sizes[n] > 1) axes.push_back({m.sizes[n], m.src_strides[n], m.dst_strides[n]});
  }
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.to > b.to; });
  if (axes.empty() || axes.back().to != 1) axes.push_back({1, 1, 1});
  for (size_t n = 0; n + 1 < axes.size(); ++n) {
    if (axes[n + 1].size * axes[n + 1].to > axes[n].to || axes.back().to < 1)
      throw Unsupported(fmt::format("kernel {}: the destination's strides are not those of a box", spec.name));
  }
  return axes;
}

std::string box_text(const std::vector<Axis>& axes, const MoveKernel& m, bool clear) {
  std::vector<u32> sizes, from, to;
  for (const Axis& a : axes) sizes.push_back(a.size), from.push_back(u32(a.from)), to.push_back(u32(a.to));
  return fmt::format(
      "struct Box {{\n  static constexpr u32 kAxes = {}, kSize[] = {{{}}}, kFrom[] = {{{}}}, kTo[] = {{{}}};\n"
      "  static constexpr u32 kFromOffset = {}, kToOffset = {};\n  static constexpr bool kClear = {};\n}};\n",
      axes.size(), fmt::join(sizes, ", "), fmt::join(from, ", "), fmt::join(to, ", "), u32(m.src_offset),
      u32(m.dst_offset), clear);
}

}  // namespace

std::string move_text(const KernelSpec& spec) {
  const MoveKernel& m = spec.move;
  if (dtype_bytes(spec.buffers.at(m.src).dtype) != dtype_bytes(spec.buffers.at(m.dst).dtype))
    throw Unsupported(fmt::format("kernel {}: a move does not change the size of elements", spec.name));
  std::string text = fmt::format(
      "// {}\n#include \"compute.h\"\n#include \"whole/move.h\"\n\nusing namespace baretile;\n"
      "using namespace baretile::kernel;\n\nusing Src = {};\nusing Dst = {};\n",
      spec.name, stored(spec, m.src), stored(spec, m.dst));
  std::string call;
  switch (m.kind) {
    case MoveKernel::Kind::gather_rows:
      call = fmt::format("gather_rows<Core::{{}}, Src, Dst>(args[{}], args[{}], args[{}]);", m.src, m.index, m.dst);
      break;
    case MoveKernel::Kind::scatter_rows:
      text += box_text({{m.sizes.at(0), m.src_strides.at(0), 0},
                        {m.sizes.at(1), m.src_strides.at(1), 0},
                        {m.sizes.at(2), m.src_strides.at(2), 1}},
                       m, false);
      call =
          fmt::format("scatter_rows<Core::{{}}, Src, Dst, Box>(args[{}], args[{}], args[{}]);", m.src, m.index, m.dst);
      break;
    case MoveKernel::Kind::iota:
      call = fmt::format("iota<Core::{{}}, Dst>(args[{}], {});", m.dst, pages_of(spec.buffers[m.dst]));
      break;
    case MoveKernel::Kind::copy: {
      const std::vector<Axis> axes = sorted_axes(spec);
      const u64 moved =
          std::accumulate(axes.begin(), axes.end(), u64{1}, [](u64 n, const Axis& a) { return n * a.size; });
      text += box_text(axes, m, m.clear || moved == elements_of(spec.buffers[m.dst]));
      call = fmt::format("copy_box<Core::{{}}, Src, Dst, Box>(args[{}], args[{}], {});", m.src, m.dst,
                         pages_of(spec.buffers[m.dst]));
    }
  }
  for (const char* core : {"brisc", "ncrisc"})
    text += fmt::format("\nextern \"C\" void kernel_{}(const u32* args) {{ {} }}\n", core,
                        fmt::format(fmt::runtime(call), core));
  return text;
}

u32 move_workers(const KernelSpec& spec) {
  const MoveKernel& m = spec.move;
  const KernelBuffer& dst = spec.buffers.at(m.dst);
  const u64 items = m.kind == MoveKernel::Kind::scatter_rows
                        ? u64{m.sizes.at(0)} * m.sizes.at(1) * ceil_div(cols_of(dst), 32)
                        : pages_of(dst);
  return u32(ceil_div(items, 2));
}

}  // namespace baretile::compiler
