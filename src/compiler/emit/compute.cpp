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

// The n-th column of output tiles in a block.
std::string ComputeEmitter::column(const std::string& n) const {
  return plan_.beside ? fmt::format("columns[{}]", n) : fmt::format("block * {} + {}", plan_.block.columns, n);
}

// The tile that an item is, or the band and the block of columns, of items or of `row` and `column` of a team's blocks.
Code ComputeEmitter::index_lines(const Code& body) const {
  const u32 rows = kernel_.reduce == ReduceAxis::rows ? 1 : kernel_.row_tiles / plan_.block.rows;
  const u32 cols = kernel_.reduce == ReduceAxis::cols ? 1 : kernel_.col_tiles / plan_.block.columns;
  const bool one = plan_.block.tiles() == 1, team = plan_.block.team, stacked = plan_.grid.batches < kernel_.batch;
  Code lines(body.depth());
  const auto index = [&](const char* name, const std::string& of_team, u32 inner, u32 size, u32 outer) {
    if (!mentions(body.text(), name)) return;
    const std::string of_item =
        (inner > 1 ? fmt::format("item / {}", inner) : "item") + (outer > 1 ? fmt::format(" % {}", size) : "");
    lines.line("const u32 {} = {};", name, size == 1 ? "0" : team ? of_team : of_item);
  };
  index("b", stacked ? fmt::format("row / {}", rows) : "batch", rows * cols, kernel_.batch, 1);
  if (kernel_.reduce != ReduceAxis::rows)
    index(one ? "i" : "band", stacked ? fmt::format("row % {}", rows) : "row", cols, rows, kernel_.batch);
  if (kernel_.reduce != ReduceAxis::cols) index(one ? "j" : "block", "column", 1, cols, kernel_.batch * rows);
  if (mentions(body.text(), "columns"))
    lines.line("const Columns columns = columns_beside({}, {}, {});",
               kernel_.batch > 1 ? fmt::format("item % {}", cols) : "item", plan_.block.columns, cols);
  return lines;
}

void ComputeEmitter::for_items(Code& code, const Bodies& bodies) const {
  const auto [batches, rows, columns] = plan_.grid;
  code.open("{}", plan_.block.team
                      ? fmt::format("team_blocks({}, {}, {}, [&](u32 batch, u32 row, u32 column, bool mine)", batches,
                                    rows, columns)
                      : fmt::format("for (const u32 item : items({}))", plan_.items));
  if (plan_.block.team && !bodies.idle.empty()) code.line("if (!mine) {};", bodies.idle);
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
  code.close(plan_.block.team ? "});" : "}");
}

// `body` for each output tile of a block, row after row.
void ComputeEmitter::for_block(Code& code, bool unrolled, const std::function<void(Code&)>& body) const {
  const auto [rows, columns, team] = plan_.block;
  if (rows * columns == 1) return body(code);
  Code inner(code.depth() + 1);
  body(inner);
  if (inner.empty()) return;
  code.open("{}", unrolled ? fmt::format("unrolled<{}>([&]<u32 w>()", rows * columns)
                           : fmt::format("for (u32 w = 0; w < {}; ++w)", rows * columns));
  if (mentions(inner.text(), "i")) code.line("const u32 i = band * {} + w / {};", rows, columns);
  if (mentions(inner.text(), "j")) code.line("const u32 j = {};", column(fmt::format("w % {}", columns)));
  code.append(inner);
  code.close(unrolled ? "});" : "}");
}

std::string operation_headers(const std::string& text) {
  std::set<std::string> headers, customs;
  for (size_t at = text.find("sfpu::"); at != std::string::npos; at = text.find("sfpu::", at + 1)) {
    const std::string op = text.substr(at + 6, text.find('<', at) - at - 6);
    if (const CustomOperation* own = find_custom(op))
      customs.insert(own->text + "\n");
    else
      headers.insert(op);
  }
  std::string head = "#include \"compute.h\"\n";
  if (mentions(text, "turned_products")) head += "#include \"whole/turned.h\"\n";
  for (const std::string& header : headers) head += fmt::format("#include \"sfpu/{}.h\"\n", header);
  for (const std::string& own : customs) head += own;
  return head;
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
  return fmt::format(
      "// {}: {} x {} x {} tiles\n{}\nusing namespace baretile;\nusing namespace baretile::kernel;\n\n{}",
      plan_.spec.name, kernel_.batch, kernel_.row_tiles, kernel_.col_tiles, operation_headers(code.text()),
      code.text());
}

}  // namespace baretile::compiler
