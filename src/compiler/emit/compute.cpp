#include "compiler/emit/compute.h"

#include <set>

#include "compiler/custom/custom.h"

namespace baretile::compiler {

std::string ComputeEmitter::edge(char axis) const {
  const u32 tiles = axis == 'i' ? kernel_.row_tiles : kernel_.col_tiles;
  return tiles == 1 ? "" : fmt::format("{} == {}", axis, tiles - 1);
}

void ComputeEmitter::if_edge(Code& code, char axis, const std::string& statement) const {
  const std::string condition = edge(axis);
  code.line("{}{}", condition.empty() ? "" : fmt::format("if ({}) ", condition), statement);
}

std::string ComputeEmitter::row_groups() const {
  const u32 last = u32(ceil_div(kernel_.rows - 32 * (kernel_.row_tiles - 1), 4));
  return kernel_.row_tiles == 1 || last == 8 ? fmt::format("{}", last) : fmt::format("({} ? {} : 8)", edge('i'), last);
}

// Rows of split matrices are counted in groups of four.
std::string ComputeEmitter::page(const Access& access, std::string_view row, std::string_view col) const {
  const bool groups = plan_.buffer(access).tiling == Tiling::split && !kernel_.one_row;
  return page_expression(access.map, "b", groups ? "(8 * i + g)" : row, col);
}

Code ComputeEmitter::index_lines(const Code& body) const {
  const u32 rows = kernel_.reduce == ReduceAxis::rows ? 1 : kernel_.row_tiles;
  const u32 cols = kernel_.reduce == ReduceAxis::cols ? 1 : kernel_.col_tiles / plan_.columns;
  Code lines(body.depth());
  const auto index = [&](const char* name, u32 inner, u32 size, u32 outer) {
    if (!mentions(body.text(), name)) return;
    lines.line("const u32 {} = {}{};", name,
               size == 1   ? "0"
               : inner > 1 ? fmt::format("item / {}", inner)
                           : "item",
               size > 1 && outer > 1 ? fmt::format(" % {}", size) : "");
  };
  index("b", rows * cols, kernel_.batch, 1);
  if (kernel_.reduce != ReduceAxis::rows) index("i", cols, rows, kernel_.batch);
  if (kernel_.reduce != ReduceAxis::cols) index(plan_.columns > 1 ? "block" : "j", 1, cols, kernel_.batch * rows);
  return lines;
}

void ComputeEmitter::for_items(Code& code, const Bodies& bodies) const {
  code.open("for (const u32 item : items({}))", plan_.items);
  Code body(code.depth());
  for (const Stage& stage : plan_.stages) {
    if (bodies.before) bodies.before(body, stage);
    if (stage.looped) {
      const bool cols = kernel_.reduce == ReduceAxis::cols;
      Code inner(code.depth() + 1);
      bodies.tile(inner, stage);
      if (!inner.empty()) {
        body.open("for (u32 {0} = 0; {0} < {1}; ++{0})", cols ? 'j' : 'i',
                  cols ? kernel_.col_tiles : kernel_.row_tiles);
        body.append(inner);
        body.close();
      }
    } else {
      bodies.tile(body, stage);
    }
    if (bodies.after) bodies.after(body, stage);
  }
  code.append(index_lines(body));
  code.append(body);
  code.close();
}

void ComputeEmitter::for_columns(Code& code, bool unrolled, const std::function<void(Code&)>& body) const {
  if (plan_.columns == 1) return body(code);
  Code inner(code.depth() + 1);
  body(inner);
  if (inner.empty()) return;
  code.open("{}", unrolled ? fmt::format("unrolled<{}>([&]<u32 w>()", plan_.columns)
                           : fmt::format("for (u32 w = 0; w < {}; ++w)", plan_.columns));
  if (mentions(inner.text(), "j")) code.line("const u32 j = block * {} + w;", plan_.columns);
  code.append(inner);
  code.close(unrolled ? "});" : "}");
}

std::string ComputeEmitter::text() {
  Code math_code, code;
  math(math_code);
  reader(code);
  code.line("");
  unpacker(code);
  code.line("");
  code.append(math_code);
  code.line("");
  packer(code);
  code.line("");
  writer(code);
  std::set<std::string> headers{"noc", "pack", "sfpu", "unpack"}, customs;
  const std::string& text = code.text();
  for (size_t at = text.find("sfpu::"); at != std::string::npos; at = text.find("sfpu::", at + 1)) {
    const std::string op = text.substr(at + 6, text.find('<', at) - at - 6);
    if (const CustomOperation* own = find_custom(op))
      customs.insert(own->header + "\n");
    else
      headers.insert("sfpu/" + op);
  }
  std::string head =
      fmt::format("// {}: {} x {} x {} tiles\n", plan_.spec.name, kernel_.batch, kernel_.row_tiles, kernel_.col_tiles);
  for (const std::string& header : headers) head += fmt::format("#include \"{}.h\"\n", header);
  for (const std::string& own : customs) head += own;
  return head + "\nusing namespace baretile;\nusing namespace baretile::kernel;\n\n" + text;
}

}  // namespace baretile::compiler
