#include <algorithm>
#include <set>

#include "compiler/emit/compute.h"
#include "compiler/emit/emit.h"

namespace baretile::compiler {
namespace {

std::string record_line(const Plan& plan, const Product& p) {
  const std::string form = fmt::format("{}{}>();", p.form->right_transposed ? "true" : "false",
                                       plan.buffer(p.form->right).dtype == DType::bfp4 ? ", 2" : "");
  if (p.left == LeftKind::tile) return "record_tile_product<" + form;
  if (p.left == LeftKind::turned) return "record_turned_product<" + form;
  return (by_groups(plan.kernel(), p.left) ? "record_group_products<" : "record_group_product<1, ") + form;
}

u32 identity(const Step& reduce) { return word_of(reduce.value, reduce.integer); }

// The register of `fill` that holds a reduction's identity, after the statement that brings it there.
std::string load_identity(const Step& reduce) {
  return identity(reduce) ? fmt::format("load_bits<0, 0x{:08X}>(), ", identity(reduce)) : "";
}
const char* identity_register(const Step& reduce) { return identity(reduce) ? "0" : "kZero"; }

}  // namespace

Place ComputeEmitter::new_rows(u32 rows) {
  const Place place{next_row_, 0};
  next_row_ += rows;
  if (next_row_ > kDstRows)
    throw KernelTooLarge(fmt::format("kernel {} needs {} rows of Dst or more, which has {}; it must be split",
                                     plan_.spec.name, next_row_, kDstRows));
  return place;
}

void ComputeEmitter::math(Code& code) {
  for (u32 n = 0; n < kernel_.steps.size(); ++n) {
    if (kernel_.steps[n].kind == StepKind::reduce) place_of_[n] = new_slot();
  }
  kept_rows_ = next_row_;
  std::set<std::string> records;
  for (const Stage& stage : plan_.stages) {
    for (const Product& p : stage.products) records.insert(record_line(plan_, p));
  }
  code.open("extern \"C\" void kernel_trisc1(const u32*)");
  code.line("setup_math<{}>();", format_name(plan_.buffer(kernel_.outputs.at(0).access)));
  if (records.size() == 1) code.line("{}", *records.begin());
  several_products_ = records.size() > 1;
  const auto before = [&](Code& body, const Stage& stage) {
    next_row_ = kept_rows_;
    if (!stage.reduces.empty()) body.line("acquire_dst();");  // T2 may still pack the last item's result from that slot
    for (const u32 r : stage.reduces) {
      body.line("{}fill<{}, {}, {}>();", load_identity(kernel_.steps[r]), identity_register(kernel_.steps[r]),
                place_of_[r].text(), plan_.slot_rows);
    }
  };
  const auto after = [&](Code& body, const Stage& stage) {
    for (const u32 r : stage.reduces) {
      body.line("finish_{}<{}, {}>([] {{ {} }});", kernel_.reduce == ReduceAxis::cols ? "columns" : "rows",
                place_of_[r].text(), plan_.slot_rows, fold_text(kernel_.steps[r].op));
    }
    if (ahead_ && plan_.axis_tiles() > 1 && !stage.reduces.empty()) make_ahead(body, stage.reduces);
  };
  for_items(code, {[&](Code& body, const Stage& stage) { math_tile(body, stage); }, before, after});
  code.line("drain();");
  code.close();
}

void ComputeEmitter::math_tile(Code& code, const Stage& stage) {
  code.line("acquire_dst();");
  for (const Product& p : stage.products) run_product(code, p);
  for_block(code, true, [&](Code& inner) {
    if (plan_.block.tiles() > 1) inner.line("acquire_dst();");
    bring_loads(inner, stage);
    if (!stage.reduces.empty()) fold(inner, stage);
    if (!stage.outputs.empty()) {
      make_outputs(inner, stage);
      inner.line("release_dst();");
    }
  });
}

// Split rows of a full tile: only groups that exist are multiplied, so the accumulators begin as stored zeros.
void ComputeEmitter::run_groups(Code& code, const Product& p, u32 base) const {
  const u32 steps = u32(p.steps.size());
  const auto products = [&](u32 fill, const std::string& count, bool keep_right) {
    for (u32 c = 0; c < steps; ++c) {
      const char* banks = c + 1 < steps ? "kSrcA" : keep_right ? "kSrcB" : "kSrcA | kSrcB";
      code.line("group_product<{}, {}, {}>({});", p.form->phases, base + p.rows * c + 64 * fill, banks, count);
    }
  };
  const std::string groups = fmt::format("groups{}", p.steps[0]);
  code.line("const u32 {} = {};", groups, row_groups());
  code.open("for (u32 k = 0; k < {}; ++k)", p.form->k_tiles);
  if (p.fills == 2) {
    code.open("if ({} > 4)", groups);
    products(0, "4", steps == 1);  // a single right tile is unpacked once for both fills
    products(1, groups + " - 4", false);
    code.otherwise();
    products(0, groups, false);
    code.close();
  } else {
    products(0, groups, false);
  }
  code.close();
}

void ComputeEmitter::run_product(Code& code, const Product& p) {
  const u32 steps = u32(p.steps.size()), length = p.left == LeftKind::tile ? 16 : 4, tiles = plan_.block.tiles();
  const u32 base = new_rows(p.rows * steps * tiles).row;
  const bool turned = p.left == LeftKind::turned;
  const auto accumulator = [&](u32 c) { return Place{base + p.rows * c, tiles > 1 ? p.rows * steps : 0}; };
  if (grouped(p)) code.line("fill<kZero, {}, {}>();", base, p.rows * steps);
  code.line("begin_products();");
  if (several_products_) code.line("{}", record_line(plan_, p));
  if (grouped(p)) {
    run_groups(code, p, base);
  } else {
    code.line("zero_rows<{}, {}>();", base, p.rows * steps * tiles);
    code.open("for (u32 k = 0; k < {}; ++k)", p.form->k_tiles);
    code.line("{}<{}, {}, {}, {}, {}, {}, {}>();", turned ? "turned_products" : "block_product", plan_.block.rows,
              plan_.block.columns, steps, turned ? p.form->right_transposed : length, p.form->phases, base, p.rows);
    code.close();
  }
  code.line("end_products();");
  for (u32 c = 0; c < steps; ++c) place_of_[p.steps[c]] = accumulator(c);
  if (p.left <= LeftKind::turned) return;
  for_block(code, true, [&](Code& inner) {
    for (const u32 step : p.steps)
      inner.line("settle<{}, {}, {}>();", place_of_[step].text(), p.rows / 8,
                 p.left == LeftKind::split ? "true" : "false");
  });
}

void ComputeEmitter::bring_loads(Code& code, const Stage& stage) {
  bool narrow = false, wide = false;
  for (const u32 step : stage.loads) {
    load_place_[&stage][step] = place_of_[step] = new_slot();
    if (plan_.wide_load(step)) {
      wide = true;
      continue;
    }
    if (!narrow) code.line("begin_products();");
    narrow = true;
    const bool tile = plan_.buffer(kernel_.steps[step].access).tiling == Tiling::tile;
    code.line("load_from_source<{}, {}>();", place_of_[step].text(), tile ? 64 : 8);
  }
  if (narrow) code.line("end_products();");
  if (wide) {
    code.line("grant_loads();");
    code.line("take<kDstLoaded>();");
  }
  for (const u32 step : stage.loads) {
    const Broadcast broadcast = kernel_.steps[step].access.broadcast;
    const std::string slot = fmt::format("{}, {}", place_of_[step].text(), plan_.slot_rows);
    if (broadcast == Broadcast::scalar || (broadcast == Broadcast::col && kernel_.one_row)) {
      code.line("spread_value<{}>();", slot);
    } else if (broadcast == Broadcast::col) {
      code.line("spread_column<{}>();", slot);
    } else if (broadcast == Broadcast::row && !kernel_.one_row) {
      code.line("spread_row<{}, {}>();", slot, plan_.wide_load(step) ? 16 : 4);
    }
  }
}

u32 ComputeEmitter::add_value(ChunkProgram& program, std::map<u32, u32>& made, u32 step) const {
  if (const auto found = made.find(step); found != made.end()) return found->second;
  const Step& s = kernel_.steps[step];
  ChunkValue value;
  if (s.kind == StepKind::constant) {
    value.kind = ChunkValue::Kind::constant;
    value.constant = s.value;
    value.integer = s.integer;
  } else if (s.kind == StepKind::op && !place_of_.contains(step)) {
    value.kind = ChunkValue::Kind::op;
    value.op = s.op;
    for (const u32 input : s.inputs) value.inputs.push_back(add_value(program, made, input));
  } else {
    value.place = place_of_.at(step);
    value.reusable = s.kind == StepKind::load || s.kind == StepKind::contraction;
  }
  program.values.push_back(std::move(value));
  return made[step] = u32(program.values.size()) - 1;
}

void ComputeEmitter::fold(Code& code, const Stage& stage) {
  const bool cols = kernel_.reduce == ReduceAxis::cols;
  const u32 valid = (cols ? kernel_.cols : kernel_.rows) % 32;
  const auto masked = [&](u32 r) {
    const u32 input = kernel_.steps[r].inputs[0];
    return valid != 0 && (identity(kernel_.steps[r]) != 0 || !(cols ? padding_.cols : padding_.rows)[input]);
  };
  const auto new_place = [&] { return new_slot(); };
  // What must be masked at the edge goes to a slot first.
  ChunkProgram first;
  std::map<u32, u32> made;
  std::map<u32, Place> slot_of;
  for (const u32 r : stage.reduces) {
    if (!masked(r)) continue;
    const u32 input = kernel_.steps[r].inputs[0];
    const StepKind kind = kernel_.steps[input].kind;
    if (stage.reduces.size() == 1 && (kind == StepKind::load || kind == StepKind::contraction)) {
      slot_of[r] = place_of_.at(input);  // nobody else needs it in this stage
      continue;
    }
    slot_of[r] = new_slot();
    first.targets.push_back({add_value(first, made, input), slot_of[r]});
  }
  for (ChunkValue& value : first.values) value.reusable = false;  // the second program needs them too
  if (!first.targets.empty()) print_chunks(code, first, plan_.slot_rows, new_place);
  for (const auto& [r, place] : slot_of) {
    const Step& reduce = kernel_.steps[r];
    if_edge(code, cols ? 'j' : 'i',
            fmt::format("{}fill_outside<{}, {}, {}, {}, {}>();", load_identity(reduce), identity_register(reduce),
                        place.text(), plan_.slot_rows, cols ? 32 : valid, cols ? valid : 32));
  }
  ChunkProgram second;
  made.clear();
  for (const u32 r : stage.reduces) {
    u32 value = 0;
    if (slot_of.contains(r)) {
      second.values.push_back({.kind = ChunkValue::Kind::slot, .place = slot_of[r]});
      value = u32(second.values.size()) - 1;
    } else {
      value = add_value(second, made, kernel_.steps[r].inputs[0]);
    }
    second.values.push_back({.kind = ChunkValue::Kind::slot, .place = place_of_.at(r)});
    const u32 sum = u32(second.values.size()) - 1;
    second.values.push_back({.kind = ChunkValue::Kind::op, .op = kernel_.steps[r].op, .inputs = {sum, value}});
    second.targets.push_back({u32(second.values.size()) - 1, place_of_.at(r)});
  }
  print_chunks(code, second, plan_.slot_rows, new_place);
}

// What steps that differ from tile to tile take of values that do not. A reduction's slot is free for it where nothing
// later needs the reduction itself.
void ComputeEmitter::make_ahead(Code& code, const std::vector<u32>& reduces) {
  const std::vector<Step>& steps = kernel_.steps;
  const Reach& s = plan_.shape;
  const u32 depth = s.depth[reduces[0]];
  std::set<u32> wanted;
  for (u32 n = 0; n < steps.size(); ++n)
    for (const u32 in : steps[n].inputs)
      if (s.varies[n] && !s.varies[in] && s.depth[in] == depth && steps[in].kind == StepKind::op) wanted.insert(in);
  std::vector<bool> later(steps.size(), false);
  for (const Output& output : kernel_.outputs) later[output.step] = true;
  for (u32 n = u32(steps.size()); n-- > 0;) {
    const bool done =
        wanted.contains(n) || s.depth[n] < depth || (s.depth[n] == depth && steps[n].kind == StepKind::reduce);
    for (const u32 input : steps[n].inputs) later[input] = later[input] || (later[n] && !done);
  }
  ChunkProgram program;
  std::map<u32, u32> made;
  for (const u32 step : wanted) program.targets.push_back({add_value(program, made, step), {}});
  for (const u32 r : reduces) {
    if (made.contains(r)) program.values[made[r]].reusable = !later[r];
  }
  next_row_ = kept_rows_;
  print_chunks(code, program, plan_.slot_rows, [&] { return new_slot(); });
  kept_rows_ = next_row_;
  for (size_t n = 0; const u32 step : wanted) place_of_[step] = *program.targets[n++].place;
}

void ComputeEmitter::make_outputs(Code& code, const Stage& stage) {
  ChunkProgram program;
  std::map<u32, u32> made;
  std::map<u32, std::vector<u32>> targets_of;
  const auto add_target = [&](u32 output, u32 value) {
    targets_of[output].push_back(u32(program.targets.size()));
    program.targets.push_back({value, {}});
  };
  for (const u32 o : stage.outputs) {
    const u32 value = add_value(program, made, kernel_.outputs[o].step);
    if (plan_.buffer(kernel_.outputs[o].access).tiling != Tiling::split) {
      add_target(o, value);
      continue;
    }
    program.values.push_back({.kind = ChunkValue::Kind::op, .op = "split_high", .inputs = {value}});
    const u32 high = u32(program.values.size()) - 1;
    program.values.push_back({.kind = ChunkValue::Kind::op, .op = "split_low", .inputs = {value, high}});
    add_target(o, high);
    add_target(o, high + 1);
  }
  print_chunks(code, program, plan_.slot_rows, [&] { return new_slot(); });
  std::set<u32> masked;
  for (const u32 o : stage.outputs) {
    output_place_[o].clear();
    for (const u32 t : targets_of[o]) {
      const Place place = *program.targets[t].place;
      output_place_[o].push_back(place);
      if (masked.insert(place.row).second) mask_output(code, kernel_.outputs[o], place);
    }
  }
  for (const u32 o : stage.outputs) {  // others may need the place as it is
    if (plan_.buffer(kernel_.outputs[o].access).dtype != DType::bfp4) continue;
    Place& place = output_place_[o][0];
    const bool shared = std::any_of(stage.outputs.begin(), stage.outputs.end(),
                                    [&](u32 other) { return other != o && output_place_[other][0] == place; });
    const std::string from = place.text();
    if (shared) place = new_slot();
    code.line("round_blocks<{}, {}, {}>();", from, place.text(), plan_.slot_rows);
  }
}

// Stored pages have zeros beyond the matrix. A reduced output has one row or one column.
void ComputeEmitter::mask_output(Code& code, const Output& output, const Place& place) const {
  const bool split = plan_.buffer(output.access).tiling == Tiling::split;
  const bool reduced = plan_.reduced(output);
  const auto fill = [&](u32 rows, u32 cols) {
    return fmt::format("fill_outside<kZero, {}, {}, {}, {}>();", place.text(), plan_.slot_rows, rows, cols);
  };
  if (reduced && kernel_.reduce == ReduceAxis::cols) {
    code.line("{}", fill(32, 1));
  } else if (kernel_.cols % 32 != 0 && !padding_.cols[output.step]) {
    if_edge(code, 'j', fill(32, kernel_.cols % 32));
  }
  if (kernel_.one_row) {
    if (split) code.line("{}", fill(1, 32));
  } else if (reduced && kernel_.reduce == ReduceAxis::rows) {
    code.line("{}", fill(1, 32));
  } else if (kernel_.rows % 32 != 0 && !padding_.rows[output.step]) {
    if_edge(code, 'i', fill(kernel_.rows % 32, 32));
  }
}

}  // namespace baretile::compiler
