#include "compiler/emit/chunk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include "baretile/error.h"
#include "compiler/build/embedded.h"
#include "compiler/custom/custom.h"

namespace baretile::compiler {
namespace {

struct OpInfo {
  u32 inputs = 0, temporaries = 0;
  bool in_place = false, keeps_zero = false;
};

// From the operation's header, as sfpu_core.h says: its template parameters, and the comment above.
OpInfo read_op(const std::string& name, std::string_view text) {
  const size_t end = text.find(fmt::format("inline void {}()", name));
  const size_t begin = end == std::string_view::npos ? end : text.rfind("template <", end);
  if (begin == std::string_view::npos)
    throw UsageError(
        fmt::format("operation {}: its header has no 'template <u32 D, u32 A> inline void {}()'", name, name));
  OpInfo info;
  const std::string_view parameters = text.substr(begin, end - begin);
  for (size_t at = parameters.find("u32 D") + 1; (at = parameters.find("u32 ", at)) != std::string_view::npos; ++at) {
    const bool input = info.temporaries == 0 && info.inputs < 3 && parameters[at + 4] == "ABC"[info.inputs];
    ++(input ? info.inputs : info.temporaries);
  }
  const size_t blank = text.rfind("\n\n", begin), start = blank == std::string_view::npos ? 0 : blank;
  const std::string_view comment = text.substr(start, begin - start);
  info.in_place = comment.find("D may be an operand") != std::string_view::npos;
  info.keeps_zero = comment.find("Zero stays zero") != std::string_view::npos;
  return info;
}

OpInfo find_op(const std::string& name) {
  if (const CustomOperation* own = find_custom(name)) return read_op(name, own->text);
  const std::string path = fmt::format("kernels/sfpu/{}.h", name);
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == path) return read_op(name, file.text);
  throw Unsupported(fmt::format("the vector unit has no operation \"{}\": there is no {}", name, path));
}

const OpInfo& op_info(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, OpInfo> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(name);
  return found != known.end() ? found->second : known[name] = find_op(name);
}

constexpr u32 kRegisters = 8, kNever = ~0u, kNone = ~0u;

// Constants that the vector unit holds anyway, or kNone.
u32 constant_register(const ChunkValue& value) {
  const u32 bits = word_of(value.constant, value.integer);
  return bits == 0 ? 9 : bits == 0x3F800000 ? 10 : bits == 0xBF800000 ? 11 : kNone;
}

struct Action {
  bool store;  // of a target; otherwise the computation of a value
  u32 index;
};

// Values in evaluation order: each target's operands first, its store directly after it.
std::vector<Action> order(const ChunkProgram& program) {
  std::vector<Action> actions;
  std::vector<bool> done(program.values.size(), false);
  const std::function<void(u32)> visit = [&](u32 v) {
    if (done[v]) return;
    done[v] = true;
    for (const u32 input : program.values[v].inputs) visit(input);
    if (program.values[v].kind == ChunkValue::Kind::op) actions.push_back({false, v});
  };
  for (u32 t = 0; t < program.targets.size(); ++t) {
    visit(program.targets[t].value);
    actions.push_back({true, t});
  }
  return actions;
}

// One try with the first `pinned` constants kept in registers around the loop.
class Allocation {
 public:
  Allocation(const ChunkProgram& program, const std::vector<Action>& actions,
             const std::function<std::optional<Place>()>& new_slot)
      : program_(program),
        actions_(actions),
        new_slot_(new_slot),
        register_of_(program.values.size(), kNone),
        spill_(program.values.size()),
        taken_(program.values.size(), false) {
    holder_.fill(kNone);
    for (u32 v = 0; v < program.values.size(); ++v) {
      if (program.values[v].kind == ChunkValue::Kind::constant) register_of_[v] = constant_register(program.values[v]);
    }
  }

  // False when the registers do not suffice.
  bool run(const std::vector<u32>& pinned) {
    for (u32 n = 0; n < pinned.size(); ++n) {
      holder_[n] = pinned[n];
      register_of_[pinned[n]] = n;
      locked_[n] = pinned_[n] = true;
      setup.push_back(constant_line(pinned[n], n));
    }
    for (now_ = 0; now_ < actions_.size(); ++now_) {
      if (!(actions_[now_].store ? do_store(program_.targets[actions_[now_].index]) : do_op(actions_[now_].index)))
        return false;
    }
    return true;
  }

  std::vector<std::string> setup, body;

 private:
  u32 next_use(u32 value) const {
    for (u32 t = now_ + 1; t < actions_.size(); ++t) {
      if (uses(t, value)) return t;
    }
    return kNever;
  }
  bool uses(u32 t, u32 value) const {
    const Action& a = actions_[t];
    if (a.store) return program_.targets[a.index].value == value;
    const auto& inputs = program_.values[a.index].inputs;
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  }
  std::string constant_line(u32 value, u32 reg) const {
    const ChunkValue& v = program_.values[value];
    return fmt::format("load_bits<{}, 0x{:08X}>();  // {}", reg, word_of(v.constant, v.integer), v.constant);
  }
  bool backed(u32 value) const {
    return program_.values[value].kind != ChunkValue::Kind::op || spill_[value].has_value();
  }

  // A register nobody needs now, or kNone. The value with the farthest next use gives way, one that need not be stored
  // first among equals.
  u32 take_register() {
    for (u32 r = 0; r < kRegisters; ++r) {
      if (holder_[r] == kNone && !locked_[r]) return r;
    }
    u32 best = kNone;
    const auto rank = [&](u32 r) { return std::pair(next_use(holder_[r]), backed(holder_[r])); };
    for (u32 r = 0; r < kRegisters; ++r) {
      if (!locked_[r] && (best == kNone || rank(r) > rank(best))) best = r;
    }
    if (best == kNone) return kNone;
    const u32 victim = holder_[best];
    if (!backed(victim)) {
      spill_[victim] = spill_place();
      if (!spill_[victim]) return kNone;
      body.push_back(fmt::format("store<{}, {}>();", best, spill_[victim]->text()));
    }
    release(best);
    return best;
  }
  // A slot whose value nobody needs any more, or a new one, if there is one.
  std::optional<Place> spill_place() {
    for (u32 v = 0; v < program_.values.size(); ++v) {
      if (next_use(v) != kNever || uses(now_, v)) continue;
      const ChunkValue& value = program_.values[v];
      std::optional<Place> place = std::exchange(spill_[v], std::nullopt);
      if (!place && value.kind == ChunkValue::Kind::slot && value.reusable && !taken_[v]) {
        taken_[v] = true;
        place = value.place;
      }
      if (place) return place;
    }
    return new_slot_();
  }
  void release(u32 reg) {
    if (holder_[reg] != kNone) register_of_[holder_[reg]] = kNone;
    holder_[reg] = kNone;
  }
  void lock(u32 reg) {
    if (reg < kRegisters) locked_[reg] = true;
  }
  bool bring(u32 value) {
    if (register_of_[value] == kNone) {
      const u32 reg = take_register();
      if (reg == kNone) return false;
      holder_[reg] = value;
      register_of_[value] = reg;
      const ChunkValue& v = program_.values[value];
      if (v.kind == ChunkValue::Kind::constant) {
        body.push_back(constant_line(value, reg));
      } else {
        body.push_back(
            fmt::format("load<{}, {}>();", reg, (v.kind == ChunkValue::Kind::slot ? v.place : *spill_[value]).text()));
      }
    }
    lock(register_of_[value]);
    return true;
  }
  // Registers whose values are not needed after this action, and temporaries.
  void unlock() {
    for (u32 r = 0; r < kRegisters; ++r) {
      if (pinned_[r]) continue;
      locked_[r] = false;
      if (holder_[r] != kNone && next_use(holder_[r]) == kNever) release(r);
    }
  }

  bool do_store(const ChunkTarget& target) {
    if (program_.values[target.value].kind == ChunkValue::Kind::slot &&
        program_.values[target.value].place == *target.place)
      return true;
    if (!bring(target.value)) return false;
    body.push_back(fmt::format("store<{}, {}>();", register_of_[target.value], target.place->text()));
    unlock();
    return true;
  }
  bool do_op(u32 value) {
    const ChunkValue& v = program_.values[value];
    const OpInfo& info = op_info(v.op);
    if (v.inputs.size() != info.inputs)
      throw InternalError(
          fmt::format("operation \"{}\" takes {} operands, not {}", v.op, info.inputs, v.inputs.size()));
    std::string arguments;
    u32 result = kNone;
    for (const u32 input : v.inputs) {
      if (!bring(input)) return false;
      const u32 reg = register_of_[input];
      arguments += fmt::format(", {}", reg);
      if (info.in_place && result == kNone && reg < kRegisters && !pinned_[reg] && next_use(input) == kNever)
        result = reg;
    }
    if (result == kNone) {
      result = take_register();
      if (result == kNone) return false;
    }
    lock(result);
    for (u32 n = 0; n < info.temporaries; ++n) {
      const u32 reg = take_register();
      if (reg == kNone) return false;
      lock(reg);
      arguments += fmt::format(", {}", reg);
    }
    body.push_back(fmt::format("sfpu::{}<{}{}>();", v.op, result, arguments));
    release(result);
    holder_[result] = value;
    register_of_[value] = result;
    unlock();
    return true;
  }

  const ChunkProgram& program_;
  const std::vector<Action>& actions_;
  const std::function<std::optional<Place>()>& new_slot_;
  std::vector<u32> register_of_;
  std::vector<std::optional<Place>> spill_;
  std::vector<bool> taken_;  // slots that hold something else now
  std::array<u32, kRegisters> holder_{};
  std::array<bool, kRegisters> locked_{}, pinned_{};
  u32 now_ = 0;
};

// A target without a place takes the slot of a value that was used for the last time, or a new one.
void choose_places(ChunkProgram& program, const std::vector<Action>& actions, const std::function<Place()>& new_slot) {
  std::vector<u32> last_use(program.values.size(), 0);
  for (u32 t = 0; t < actions.size(); ++t) {
    const auto use = [&](u32 v) { last_use[v] = t; };
    if (actions[t].store) {
      use(program.targets[actions[t].index].value);
    } else {
      for (const u32 v : program.values[actions[t].index].inputs) use(v);
    }
  }
  for (u32 t = 0; t < actions.size(); ++t) {
    if (!actions[t].store) continue;
    ChunkTarget& target = program.targets[actions[t].index];
    if (target.place) continue;
    ChunkValue& own = program.values[target.value];
    if (own.kind == ChunkValue::Kind::slot) {
      target.place = own.place;
      own.reusable = false;
      continue;
    }
    for (u32 v = 0; v < program.values.size() && !target.place; ++v) {
      ChunkValue& value = program.values[v];
      if (value.kind != ChunkValue::Kind::slot || !value.reusable || last_use[v] > t) continue;
      target.place = value.place;
      value.reusable = false;
    }
    if (!target.place) target.place = new_slot();
  }
}

}  // namespace

u32 word_of(double value, bool integer) { return integer ? u32(i64(value)) : std::bit_cast<u32>(float(value)); }

std::string fold_text(const std::string& op) {
  const OpInfo& info = op_info(op);
  const u32 result = info.in_place ? 0 : 4;
  std::string temporaries;
  for (u32 n = 0; n < info.temporaries; ++n) temporaries += fmt::format(", {}", 5 + n);
  return fmt::format("sfpu::{}<{}, 0, 1{}>();{}", op, result, temporaries, result ? " move<0, 4>();" : "");
}

u32 operands_of(const std::string& name, std::string_view header) {
  const u32 inputs = read_op(name, header).inputs;
  if (inputs == 0)
    throw UsageError(fmt::format("operation {}: its template has no operand, as in <u32 D, u32 A>", name));
  return inputs;
}

bool keeps_zero(const std::string& op) { return op_info(op).keeps_zero; }

void print_chunks(Code& code, ChunkProgram& program, u32 rows, const std::function<Place()>& new_slot) {
  for (ChunkTarget& target : program.targets) {  // what is stored where it already is cannot be overwritten by another
    ChunkValue& value = program.values[target.value];
    if (value.kind == ChunkValue::Kind::slot && (!target.place || *target.place == value.place)) value.reusable = false;
  }
  const std::vector<Action> actions = order(program);
  choose_places(program, actions, new_slot);
  std::vector<u32> constants;
  for (const Action& a : actions) {
    const std::vector<u32>& used =
        a.store ? std::vector<u32>{program.targets[a.index].value} : program.values[a.index].inputs;
    for (const u32 v : used) {
      const ChunkValue& value = program.values[v];
      if (value.kind == ChunkValue::Kind::constant && constant_register(value) == kNone &&
          std::find(constants.begin(), constants.end(), v) == constants.end())
        constants.push_back(v);
    }
  }
  std::optional<Allocation> best;
  std::vector<Place> spills;  // shared by the tries: constants in registers must not cost slots
  for (u32 pinned = 0; pinned <= constants.size() && pinned < kRegisters; ++pinned) {
    u32 used = 0;
    const std::function<std::optional<Place>()> spill = [&]() -> std::optional<Place> {
      if (used == spills.size() && pinned > 0) return std::nullopt;
      if (used == spills.size()) spills.push_back(new_slot());
      return spills[used++];
    };
    Allocation allocation(program, actions, spill);
    if (!allocation.run({constants.begin(), constants.begin() + pinned})) break;
    if (!best || allocation.body.size() < best->body.size()) best.emplace(std::move(allocation));
  }
  if (!best) throw InternalError("an operation needs more than eight vector registers");
  const auto last = std::find_if(best->body.rbegin(), best->body.rend(),
                                 [](const std::string& s) { return s.starts_with("store<"); });
  if (last == best->body.rend()) return;  // every target is where it should be
  last->replace(0, 5, "store_next");
  for (const std::string& line : best->setup) code.line("{}", line);
  code.open("for_chunks<{}>([]", rows);
  for (const std::string& line : best->body) code.line("{}", line);
  code.close("});");
}

}  // namespace baretile::compiler
