#include "baretile/jit.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/compiler.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::Op;

namespace {

// What an argument looks like to a graph.
compiler::Node outside(const Tensor& x) { return {Op::external, x.dtype(), x.shape(), {}, {}, 0}; }

Tensor holding(Runtime* runtime, compiler::Node node, DeviceBuffer storage) {
  auto expr = std::make_shared<Expr>();
  expr->node = {Op::external, node.dtype, std::move(node.shape), {}, {}, 0};
  expr->place(runtime);
  expr->storage = std::move(storage);
  return Tensor(std::move(expr));
}

bool among(std::span<const Tensor> tensors, const std::shared_ptr<Expr>& expr) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& x) { return x.expr() == expr; });
}

// Writes in place to what only the graph knows are outputs to nobody.
void drop_temporaries(Capture& captured, std::span<const Tensor> wanted) {
  const auto& nodes = captured.graph.nodes;
  auto& numbers = captured.graph.outputs;
  for (size_t i = numbers.size(); i-- > 0;) {
    u32 root = numbers[i];
    while (nodes[root].op == Op::assign_rows) root = nodes[root].inputs[0];
    if (nodes[root].op == Op::external || among(wanted, captured.outputs[i])) continue;
    numbers.erase(numbers.begin() + i64(i));
    captured.outputs.erase(captured.outputs.begin() + i64(i));
  }
}

// Whether all of external `from` has been read when `to` is written over it.
bool may_replace(const Program& program, i32 from, i32 to) {
  const auto external = [&](const LaunchArg& arg) {
    return arg.kind == LaunchArg::Kind::buffer ? program.buffers[arg.value].external : -1;
  };
  bool written = false;
  for (const Launch& launch : program.launches) {
    const bool writes =
        std::any_of(launch.args.begin(), launch.args.end(), [&](const LaunchArg& arg) { return external(arg) == to; });
    written = written || writes;
    for (u32 n = 0; written && n < launch.args.size(); ++n) {
      if (external(launch.args[n]) != from) continue;
      const bool in_place = std::any_of(launch.in_place.begin(), launch.in_place.end(), [&](const auto& pair) {
        return pair.first == n && external(launch.args[pair.second]) == to;
      });
      if (!in_place) return false;
    }
  }
  return true;
}

}  // namespace

// One combination of arguments: the inputs, then the state.
struct Jit::Trace {
  struct External {
    size_t argument;
    std::shared_ptr<Expr> constant;  // null: it is the argument
  };
  std::vector<compiler::Node> arguments;
  std::shared_ptr<const compiler::Compiled> compiled;
  std::vector<External> externals;
  std::vector<compiler::Node> made;  // the program's outputs
  std::vector<i64> results;          // of the function, then of the state, among them; -1 - n: argument n as it is
  std::vector<i64> replaces;  // by output: the argument whose next value it is and may lie where that lies, or -1

  size_t states = 0;  // how many arguments are state

  void record(std::span<const Tensor> outputs, std::span<const Expr* const> stand_ins);
  i64 replaced_by(size_t index, u32 slot) const;
  std::vector<Tensor> replay(std::span<const Tensor> given) const;
};

Jit::Jit(Function function, std::vector<Tensor*> state) : function_(std::move(function)), state_(std::move(state)) {}
Jit::~Jit() = default;
size_t Jit::traces() const { return traces_.size(); }

void Jit::Trace::record(std::span<const Tensor> outputs, std::span<const Expr* const> stand_ins) {
  const auto argument_of = [&](const Expr* expr) {
    return std::find(stand_ins.begin(), stand_ins.end(), expr) - stand_ins.begin();
  };
  std::vector<Tensor> wanted;
  for (const Tensor& output : outputs) {
    if (!output) throw UsageError("jit: the function gives an empty tensor; give it a value first.");
    if (argument_of(output.expr().get()) == i64(stand_ins.size())) wanted.push_back(output);
  }
  Capture captured = capture(wanted);
  drop_temporaries(captured, wanted);
  for (const auto& expr : captured.externals) {
    const i64 argument = argument_of(expr.get());
    const bool is_argument = argument < i64(stand_ins.size());
    externals.push_back({size_t(argument), is_argument ? nullptr : expr});
    if (!is_argument && expr->storage.pages() == 0)
      throw UsageError(fmt::format("jit: a placeholder of shape {} has no value; make it an input.",
                                   compiler::to_string(expr->node.shape)));
  }
  for (const Tensor& output : outputs) {
    const i64 argument = argument_of(output.expr().get());
    const auto found = std::find(captured.outputs.begin(), captured.outputs.end(), output.expr());
    results.push_back(argument < i64(stand_ins.size()) ? -1 - argument : found - captured.outputs.begin());
  }
  if (captured.outputs.empty()) return;
  compiled = program_for(captured.graph);
  for (size_t i = 0; i < captured.outputs.size(); ++i) {
    const auto& expr = captured.outputs[i];
    const u32 slot = compiled->output_slots[i];
    const bool constant = slot < externals.size() && externals[slot].constant;
    if (constant || !among(outputs, expr))
      throw UsageError(
          fmt::format("jit: the function assigns to a tensor of shape {} that is not among its state; name it there.",
                      compiler::to_string(expr->node.shape)));
    made.push_back(expr->node);
    replaces.push_back(replaced_by(i, slot));
  }
}

// A state tensor of the same layout whose old value the program is done with when it writes output `index`.
i64 Jit::Trace::replaced_by(size_t index, u32 slot) const {
  const size_t first = arguments.size() - states, function = results.size() - states;
  for (size_t argument = first; slot >= externals.size() && argument < arguments.size(); ++argument) {
    const compiler::Node& old = arguments[argument];
    if (results[function + argument - first] != i64(index) || old.shape != made[index].shape ||
        old.dtype != made[index].dtype)
      continue;
    if (std::find(results.begin(), results.end(), -1 - i64(argument)) != results.end()) continue;  // handed on as it is
    const auto read = std::find_if(externals.begin(), externals.end(),
                                   [&](const External& e) { return !e.constant && e.argument == argument; });
    if (read == externals.end() || may_replace(compiled->program, i32(read - externals.begin()), i32(slot)))
      return i64(argument);
  }
  return -1;
}

std::vector<Tensor> Jit::Trace::replay(std::span<const Tensor> given) const {
  std::vector<u64> addresses;
  for (const External& e : externals)
    addresses.push_back((e.constant ? *e.constant : *given[e.argument].expr()).storage.address());
  Runtime* runtime = nullptr;
  for (const External& e : externals) {
    Runtime* const its = (e.constant ? *e.constant : *given[e.argument].expr()).runtime();
    if (runtime && runtime != its)
      throw UsageError("jit: the tensors lie on two devices; bring one to the other with to_host and from_host.");
    runtime = its;
  }
  for (size_t n = 0; !runtime && n < given.size(); ++n) runtime = given[n].runtime();
  if (!runtime && !made.empty()) throw UsageError("jit: the function uses no tensor of a device; give it one.");
  std::vector<u64> places;  // of values that nobody holds but the state and `given`
  for (const i64 argument : replaces) {
    const Expr* old = argument >= 0 && given[size_t(argument)].expr().use_count() == 2
                          ? given[size_t(argument)].expr().get()
                          : nullptr;
    places.push_back(old ? old->storage.address() : 0);
  }
  std::vector<DeviceBuffer> buffers;
  if (!made.empty()) buffers = execute(*runtime, *compiled, std::move(addresses), made, places);
  std::vector<Tensor> values, out;
  for (size_t i = 0; i < made.size(); ++i) {
    const u32 slot = compiled->output_slots[i];
    values.push_back(slot < externals.size() ? given[externals[slot].argument]
                     : places[i] != 0        ? given[size_t(replaces[i])]
                                             : holding(runtime, made[i], std::move(buffers[i])));
  }
  for (const i64 result : results) out.push_back(result < 0 ? given[size_t(-1 - result)] : values[size_t(result)]);
  return out;
}

std::vector<Tensor> Jit::operator()(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> given = inputs;
  for (const Tensor* state : state_) given.push_back(*state);
  realize(given);
  const auto fits = [&](const std::unique_ptr<Trace>& trace) {
    return std::equal(trace->arguments.begin(), trace->arguments.end(), given.begin(), given.end(),
                      [](const compiler::Node& node, const Tensor& x) { return node == outside(x); });
  };
  auto trace = std::find_if(traces_.begin(), traces_.end(), fits);
  if (trace == traces_.end()) trace = traces_.insert(traces_.end(), this->trace(given, inputs.size()));
  std::vector<Tensor> out = (*trace)->replay(given);
  for (size_t i = 0; i < state_.size(); ++i) *state_[i] = out[out.size() - state_.size() + i];
  out.resize(out.size() - state_.size());
  return out;
}

// Calls the function with stand-ins, also for the state, which has its values back afterwards.
std::unique_ptr<Jit::Trace> Jit::trace(const std::vector<Tensor>& given, size_t inputs) {
  auto trace = std::make_unique<Trace>();
  trace->states = given.size() - inputs;
  std::vector<Tensor> stand_ins;
  std::vector<const Expr*> exprs;
  for (const Tensor& x : given) {
    trace->arguments.push_back(outside(x));
    stand_ins.push_back(holding(x.runtime(), outside(x), {}));
    exprs.push_back(stand_ins.back().expr().get());
  }
  const auto set_state = [&](std::span<const Tensor> values) {
    for (size_t i = 0; i < state_.size(); ++i) *state_[i] = values[inputs + i];
  };
  set_state(stand_ins);
  stand_ins.resize(inputs);  // the state's are the function's alone, so that it may write where they lie
  std::vector<Tensor> outputs;
  try {
    outputs = function_(stand_ins);
  } catch (...) {
    set_state(given);
    throw;
  }
  for (Tensor* state : state_) outputs.push_back(*state);
  set_state(given);
  trace->record(outputs, exprs);
  return trace;
}

}  // namespace baretile
