#include <algorithm>
#include <set>

#include "compiler/emit/compute.h"

namespace baretile::compiler {
namespace {

// Modes of the unpackers for a product.
std::string mode_a(const Plan& plan, const Product& p) {
  return fmt::format("in.to_src_a<{}{}>();", format_name(plan.buffer(p.form->right)),
                     p.form->right_transposed ? ", true" : "");
}
std::string mode_b(const Plan& plan, const Product& p) {
  return fmt::format("in.to_src_b<{}, {}>();", format_name(plan.buffer(p.form->left)),
                     p.left == LeftKind::tile     ? "1024"
                     : p.left == LeftKind::turned ? "256, kTileHalf"
                     : p.left == LeftKind::row    ? "32"
                                                  : "256");
}

// Statements that are the same wherever they are needed stand once at the top of a function; others where they are
// needed.
class Modes {
 public:
  void need(const std::string& unit, const std::string& statement) { needed_[unit].insert(statement); }
  void print_common(Code& code) const {
    for (const auto& [unit, statements] : needed_) {
      if (statements.size() == 1) code.line("{}", *statements.begin());
    }
  }
  void print(Code& code, const std::string& unit, const std::string& statement) const {
    if (needed_.at(unit).size() > 1) code.line("{}", statement);
  }

 private:
  std::map<std::string, std::set<std::string>> needed_;
};

}  // namespace

// NCRISC

void ComputeEmitter::read_groups(Code& code, const Product& p) const {
  const auto groups = [&](u32 first) {
    code.line("for (u32 g = {}; g < {}; ++g) in.read<{}>(args[{}], {});", first,
              p.fills == 1 || first == 4 ? row_groups() : fmt::format("least({}, 4)", row_groups()),
              plan_.bytes(p.form->left), p.form->left.buffer, page(p.form->left, "i", "k"));
  };
  code.open("for (u32 k = 0; k < {}; ++k)", p.form->k_tiles);
  groups(0);
  for (const u32 step : p.steps) {
    const Access& right = kernel_.steps[step].contraction.right;
    code.line("in.read<{}>(args[{}], {});", plan_.bytes(right), right.buffer, page(right, "k", "j"));
  }
  if (p.fills == 2) groups(4);
  code.close();
}

// The slot of a step of `run` k holds `run` left pages of each row of the block, or the right pages of each row of k;
// where the right operand is stored transposed `run` of each column, which follow one another in memory.
void ComputeEmitter::read_product(Code& code, const Product& p) const {
  if (grouped(p)) return read_groups(code, p);
  const u32 k_tiles = p.form->k_tiles, run = std::min(plan_.run, k_tiles);
  const auto [rows, columns, team] = plan_.block;
  const auto operand = [&](const Access& access, u32 pages, const std::string& k, const std::string& page, bool last) {
    code.line("    operand<{}, {}>(args[{}], [&](u32 s, u32 n) {{ const u32 k = s * {} + {}; return {}; }}){}",
              plan_.bytes(access), pages, access.buffer, run, k,
              k_tiles % run == 0 ? page : fmt::format("k < {} ? {} : kNoPage", k_tiles, page), last ? ");" : ",");
  };
  const bool one = plan_.block.tiles() == 1;
  const std::string i = one ? "i" : fmt::format("(band * {} + n / {})", rows, run);
  const bool turned = p.form->right_transposed;
  const std::string inner = fmt::format("n % {}", turned ? run : columns),
                    outer = fmt::format("n / {}", turned ? run : columns);
  const std::string j = one ? "j" : fmt::format("({})", column(turned ? outer : inner));
  code.line("in.product({},", ceil_div(k_tiles, run));
  operand(p.form->left, rows * run, fmt::format("n % {}", run), page(p.form->left, i, "k"), false);
  for (const u32 step : p.steps) {
    const Access& right = kernel_.steps[step].contraction.right;
    operand(right, run * columns, turned ? inner : outer, page(right, "k", j), step == p.steps.back());
  }
}

void ComputeEmitter::reader(Code& code) const {
  code.open("extern \"C\" void kernel_ncrisc(const u32* args)");
  code.line("{}<{}> in;", plan_.block.team ? "TeamReader" : "Reader", plan_.input_slot);
  const auto read_stage = [&](Code& body, const Stage& stage) {
    for (const Product& p : stage.products) read_product(body, p);
    if (plan_.block.team && !stage.loads.empty())
      body.line("if (!mine) return in.skip({});", stage.loads.size() * plan_.block.tiles());
    for_block(body, false, [&](Code& inner) {
      for (const u32 step : stage.loads) {
        const Access& access = kernel_.steps[step].access;
        inner.line("in.read<{}>(args[{}], {});", plan_.bytes(access), access.buffer, page(access, "i", "j"));
      }
    });
  };
  for_items(code, {.tile = read_stage, .idle = ""});
  code.line("in.finish();");
  code.close();
}

// T0

// Split rows of a full tile: SrcB takes four groups at a time; with several right tiles these are unpacked for each
// fill.
void ComputeEmitter::unpack_groups(Code& code, const Product& p) const {
  const u32 rights = u32(p.steps.size());
  const std::string groups = fmt::format("groups{}", p.steps[0]);
  code.line("const u32 {} = {};", groups, row_groups());
  code.open("for (u32 k = 0; k < {}; ++k)", p.form->k_tiles);
  code.line("in.left_groups(least({}, 4));", groups);
  for (u32 n = 0; n < rights; ++n) {
    if (n > 0) code.line("in.wait();");
    code.line("const u32 right{} = in.page();", n);
    code.line("in.right(right{});", n);
  }
  if (p.fills == 2) {
    code.open("if ({} > 4)", groups);
    code.line("in.left_groups({} - 4);", groups);
    for (u32 n = 0; n < rights && rights > 1; ++n) {
      code.line("in.wait();");
      code.line("in.right(right{});", n);
    }
    code.close();
  }
  code.line("in.next();");
  code.close();
}

void ComputeEmitter::unpack_product(Code& code, const Product& p) const {
  if (grouped(p)) return unpack_groups(code, p);
  const u32 k_tiles = p.form->k_tiles, run = std::min(plan_.run, k_tiles);
  const auto [rows, columns, team] = plan_.block;
  code.open("for (u32 s = 0; s < {}; ++s)", ceil_div(k_tiles, run));
  code.line("const u32 left = in.page();");
  for (u32 c = 0; c < p.steps.size(); ++c) code.line("const u32 right{} = in.page();", c);
  code.open("for (u32 n = 0; n < {}; ++n)",
            k_tiles % run == 0 ? fmt::format("{}", run) : fmt::format("least({}, {} - s * {})", run, k_tiles, run));
  code.open("for (u32 c = 0; c < {}; ++c)", columns);
  for (u32 c = 0; c < p.steps.size(); ++c) {
    code.line("in.right(right{} + ({}) * {});", c,
              p.form->right_transposed ? fmt::format("c * {} + n", run) : fmt::format("n * {} + c", columns),
              plan_.bytes(kernel_.steps[p.steps[c]].contraction.right));
    code.open("walk<{}>({}, [&](u32 r, bool held)", rows,
              p.steps.size() == 1 ? "c" : fmt::format("c * {} + {}", p.steps.size(), c));
    const char* take = p.left == LeftKind::turned ? "in.left_faces"
                       : p.left == LeftKind::row  ? "if (!held) in.left_row"
                                                  : "if (!held) in.left";
    code.line("{}(left + (r * {} + n) * {});", take, run, plan_.bytes(p.form->left));
    code.line("in.wait();");
    code.close("});");
  }
  for (u32 n = 0; n < 2; ++n) code.close();
  code.line("in.free();");
  code.close();
}

void ComputeEmitter::unpack_load(Code& code, const Stage& stage, size_t n) const {
  const u32 step = stage.loads[n];
  const bool tile = plan_.buffer(kernel_.steps[step].access).tiling == Tiling::tile;
  if (!plan_.wide_load(step)) {
    code.line("in.source_{}();", tile ? "tile" : "row");
  } else {
    if (n == 0 || !plan_.wide_load(stage.loads[n - 1])) code.line("in.begin_loads();");
    code.line("in.load_{}<{}{}>();", tile ? "tile" : "row", load_place_.at(&stage).at(step).row,
              tile              ? ""
              : kernel_.one_row ? ", kOneRowHalf"
                                : ", kTileHalf");
    if (n + 1 == stage.loads.size()) code.line("in.end_loads();");
  }
  code.line("in.next();");
}

void ComputeEmitter::unpacker(Code& code) const {
  const auto load_mode = [&](u32 step) {
    return plan_.wide_load(step)
               ? "in.loads_to_dst();"
               : fmt::format("in.to_src_a<{}>();", format_name(plan_.buffer(kernel_.steps[step].access)));
  };
  Modes modes;
  for (const Stage& stage : plan_.stages) {
    for (const Product& p : stage.products) {
      modes.need("A", mode_a(plan_, p));
      modes.need("B", mode_b(plan_, p));
    }
    for (const u32 step : stage.loads) modes.need("A", load_mode(step));
  }
  code.open("extern \"C\" void kernel_trisc0(const u32*)");
  code.line("Unpacker<{}> in;", plan_.input_slot);
  modes.print_common(code);
  const auto unpack_stage = [&](Code& body, const Stage& stage) {
    for (const Product& p : stage.products) {
      modes.print(body, "A", mode_a(plan_, p));
      modes.print(body, "B", mode_b(plan_, p));
      unpack_product(body, p);
    }
    if (stage.loads.empty()) return;
    for_block(body, false, [&](Code& inner) {
      for (size_t n = 0; n < stage.loads.size(); ++n) {
        const std::string mode = load_mode(stage.loads[n]);
        if (n == 0 || mode != load_mode(stage.loads[n - 1])) modes.print(inner, "A", mode);
        unpack_load(inner, stage, n);
      }
    });
  };
  u64 pages = 0;  // slots of the input ring for a block
  for (const Stage& stage : plan_.stages) {
    for (const Product& p : stage.products)
      pages += ceil_div(p.form->k_tiles, std::min(plan_.run, p.form->k_tiles)) * (1 + p.steps.size());
    pages += stage.loads.size() * plan_.block.tiles();
  }
  for_items(code, {.tile = unpack_stage, .idle = fmt::format("return in.skip({})", pages)});
  code.line("drain();");
  code.close();
}

// T2

void ComputeEmitter::pack_output(Code& code, u32 output) const {
  const KernelBuffer& b = plan_.buffer(kernel_.outputs[output].access);
  const std::vector<Place>& places = output_place_.at(output);
  if (b.tiling == Tiling::tile) return code.line("out.tile<{}>();", places[0].text());
  if (b.tiling == Tiling::row) return code.line("out.row<{}, {}>();", places[0].text(), kernel_.one_row ? 4 : 16);
  if (kernel_.one_row) return code.line("out.split<{}, {}, 4>();", places[0].text(), places[1].text());
  code.line("out.split_groups<{}, {}>({});", places[0].text(), places[1].text(), row_groups());
}

void ComputeEmitter::packer(Code& code) const {
  Modes modes;
  const auto mode = [&](u32 output, const char* verb) {
    return fmt::format("out.{}<{}>();", verb, format_name(plan_.buffer(kernel_.outputs[output].access)));
  };
  std::set<std::string> formats;
  for (u32 o = 0; o < kernel_.outputs.size(); ++o) formats.insert(mode(o, "to"));
  const char* verb = formats.size() > 1 ? "switch_to" : "to";
  for (u32 o = 0; o < kernel_.outputs.size(); ++o) modes.need("", mode(o, verb));
  code.open("extern \"C\" void kernel_trisc2(const u32*)");
  code.line("Packer<{}> out;", plan_.output_slot);
  modes.print_common(code);
  for_items(code, {[&](Code& body, const Stage& stage) {
              if (stage.outputs.empty()) return;
              for_block(body, true, [&](Code& inner) {
                inner.line("out.acquire();");
                for (const u32 o : stage.outputs) {
                  modes.print(inner, "", mode(o, verb));
                  pack_output(inner, o);
                }
                inner.line("out.release();");
              });
            }});
  code.line("drain();");
  code.close();
}

// BRISC

void ComputeEmitter::writer(Code& code) const {
  code.open("extern \"C\" void kernel_brisc(const u32* args)");
  code.line("Writer<{}> out;", plan_.output_slot);
  for_items(code, {[&](Code& body, const Stage& stage) {
              for_block(body, false, [&](Code& inner) {
                for (const u32 o : stage.outputs) {
                  const Access& access = kernel_.outputs[o].access;
                  const bool grouped = plan_.buffer(access).tiling == Tiling::split && !kernel_.one_row;
                  const bool reduced = plan_.reduced(kernel_.outputs[o]);
                  inner.line("{}out.write<{}>(args[{}], {});",
                             grouped ? fmt::format("for (u32 g = 0; g < {}; ++g) ", row_groups()) : "",
                             plan_.bytes(access), access.buffer,
                             page(access, reduced && kernel_.reduce == ReduceAxis::rows ? "0" : "i",
                                  reduced && kernel_.reduce == ReduceAxis::cols ? "0" : "j"));
                }
              });
            }});
  code.line("out.finish();");
  code.close();
}

}  // namespace baretile::compiler
