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
                     p.left == LeftKind::tile  ? 1024
                     : p.left == LeftKind::row ? 32
                                               : 256);
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

// Pages of one operand for `steps` values of k from `k` on, into one slot.
void ComputeEmitter::read_steps(Code& code, const Access& access, bool left, const std::string& steps) const {
  const KernelBuffer& b = plan_.buffer(access);
  const u32 bytes = page_bytes(b.tiling, b.dtype);
  const std::vector<Digit>& digits = left ? access.map.col : access.map.row;
  const auto page_at = [&](const char* k) { return left ? page(access, "i", k) : page(access, k, "j"); };
  if (steps == "1") return code.line("in.read<{}>(args[{}], {});", bytes, access.buffer, page_at("k"));
  if (digits.size() == 1 && digits[0].stride == 1) {
    code.line("in.read_run<{}>(args[{}], {}, {});", bytes, access.buffer, page_at("k"), steps);
  } else {
    code.line("in.read_each<{}>(args[{}], {}, [&](u32 n) {{ return {}; }});", bytes, access.buffer, steps,
              page_at("(k + n)"));
  }
}

// `n` in the loop over k that this opens: how many steps of k an iteration takes.
std::string ComputeEmitter::open_steps(Code& code, const Product& p) const {
  const u32 k_tiles = p.form->k_tiles, run = std::min(plan_.run, k_tiles);
  if (grouped(p) || run == 1) {
    code.open("for (u32 k = 0; k < {}; ++k)", k_tiles);
    return "1";
  }
  code.open("for (u32 k = 0; k < {}; k += {})", k_tiles, run);
  if (k_tiles % run == 0) return fmt::format("{}", run);
  code.line("const u32 steps = least({}, {} - k);", run, k_tiles);
  return "steps";
}

void ComputeEmitter::read_product(Code& code, const Product& p) const {
  const KernelBuffer& left = plan_.buffer(p.form->left);
  const auto read_groups = [&](u32 first) {
    code.line("for (u32 g = {}; g < {}; ++g) in.read<{}>(args[{}], {});", first,
              p.fills == 1 || first == 4 ? row_groups() : fmt::format("least({}, 4)", row_groups()),
              page_bytes(left.tiling, left.dtype), p.form->left.buffer, page(p.form->left, "i", "k"));
  };
  const std::string steps = open_steps(code, p);
  if (grouped(p)) {
    read_groups(0);
  } else {
    read_steps(code, p.form->left, true, steps);
  }
  for_columns(code, false, [&](Code& inner) {
    for (const u32 step : p.steps) read_steps(inner, kernel_.steps[step].contraction.right, false, steps);
  });
  if (p.fills == 2) read_groups(4);
  code.close();
}

void ComputeEmitter::reader(Code& code) const {
  code.open("extern \"C\" void kernel_ncrisc(const u32* args)");
  code.line("Reader<{}> in;", plan_.input_slot);
  for_items(code, {[&](Code& body, const Stage& stage) {
              for (const Product& p : stage.products) read_product(body, p);
              for_columns(body, false, [&](Code& inner) {
                for (const u32 step : stage.loads) {
                  const Access& access = kernel_.steps[step].access;
                  const KernelBuffer& b = plan_.buffer(access);
                  inner.line("in.read<{}>(args[{}], {});", page_bytes(b.tiling, b.dtype), access.buffer,
                             page(access, "i", "j"));
                }
              });
            }});
  code.line("in.finish();");
  code.close();
}

// T0

// Split rows of a full tile: SrcB takes four groups at a time; with several right tiles these are unpacked for each
// fill.
void ComputeEmitter::unpack_groups(Code& code, const Product& p) const {
  const u32 rights = u32(p.steps.size()) * plan_.columns;
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
  const KernelBuffer &left = plan_.buffer(p.form->left), &right = plan_.buffer(p.form->right);
  const u32 rights = u32(p.steps.size()) * plan_.columns;
  const std::string steps = open_steps(code, p);
  code.line("const u32 left = in.page();");
  for (u32 n = 0; n < rights; ++n) code.line("const u32 right{} = in.page();", n);
  const auto at = [](const std::string& name, const KernelBuffer& b) {
    return fmt::format("{} + n * {}", name, page_bytes(b.tiling, b.dtype));
  };
  code.open("for (u32 n = 0; n < {}; ++n)", steps);
  code.line("in.{}({});", p.left == LeftKind::row ? "left_row" : "left", at("left", left));
  for (u32 n = 0; n < rights; ++n) {
    code.line("in.right({});", at(fmt::format("right{}", n), right));
    code.line("in.wait();");
  }
  code.close();
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
  for_items(code, {[&](Code& body, const Stage& stage) {
              for (const Product& p : stage.products) {
                modes.print(body, "A", mode_a(plan_, p));
                modes.print(body, "B", mode_b(plan_, p));
                unpack_product(body, p);
              }
              if (stage.loads.empty()) return;
              for_columns(body, false, [&](Code& inner) {
                for (size_t n = 0; n < stage.loads.size(); ++n) {
                  const std::string mode = load_mode(stage.loads[n]);
                  if (n == 0 || mode != load_mode(stage.loads[n - 1])) modes.print(inner, "A", mode);
                  unpack_load(inner, stage, n);
                }
              });
            }});
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
              for_columns(body, true, [&](Code& inner) {
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
              for_columns(body, false, [&](Code& inner) {
                for (const u32 o : stage.outputs) {
                  const Access& access = kernel_.outputs[o].access;
                  const KernelBuffer& b = plan_.buffer(access);
                  const bool grouped = b.tiling == Tiling::split && !kernel_.one_row;
                  const bool reduced = plan_.reduced(kernel_.outputs[o]);
                  inner.line("{}out.write<{}>(args[{}], {});",
                             grouped ? fmt::format("for (u32 g = 0; g < {}; ++g) ", row_groups()) : "",
                             page_bytes(b.tiling, b.dtype), access.buffer,
                             page(access, reduced && kernel_.reduce == ReduceAxis::rows ? "0" : "i",
                                  reduced && kernel_.reduce == ReduceAxis::cols ? "0" : "j"));
                }
              });
            }});
  code.line("out.finish();");
  code.close();
}

}  // namespace baretile::compiler
