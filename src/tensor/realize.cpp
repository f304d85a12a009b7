// From wanted tensors to a Program that has run, once a graph: the same graph of the same shapes takes its Program from
// memory.
#include <fmt/format.h>

#include <mutex>
#include <unordered_map>

#include "baretile/trace.h"
#include "compiler/compiler.h"
#include "tensor/expr.h"
#include "tensor/format.h"

namespace baretile {

namespace {

using compiler::Compiled;

struct ProgramCache {
  std::mutex mutex;
  std::unordered_multimap<u64, std::pair<compiler::Graph, std::shared_ptr<const Compiled>>> programs;
};

bool has_value(const Tensor& tensor) { return tensor.expr()->storage.pages() != 0 || is_empty(tensor); }

Runtime& runtime_of(const Capture& captured) {
  Runtime* runtime = nullptr;
  for (const auto& expr : captured.outputs) {
    if (!runtime) runtime = expr->runtime();
    if (!runtime || expr->runtime() != runtime) {
      throw UsageError(
          fmt::format("realize: {} of shape {} belongs to no device, or to another one than the rest; combine it with "
                      "a tensor made with a Runtime.",
                      info(expr->node.op).name, compiler::to_string(expr->node.shape)));
    }
  }
  for (const auto& expr : captured.externals) {
    if (expr->storage.pages() == 0) {
      throw UsageError(fmt::format("realize: a placeholder of shape {} has no value; use from_host.",
                                   compiler::to_string(expr->node.shape)));
    }
  }
  return *runtime;
}

}  // namespace

std::shared_ptr<const Compiled> program_for(const compiler::Graph& graph) {
  static ProgramCache cache;
  std::lock_guard lock(cache.mutex);
  const u64 key = hash(graph);
  auto [first, last] = cache.programs.equal_range(key);
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second.first == graph) return entry->second.second;
  }
  const TraceTime begin = std::chrono::steady_clock::now();
  auto compiled = std::make_shared<const Compiled>(compiler::compile(graph));
  if (Observer* listener = observer()) listener->built(graph, compiled->program, begin);
  cache.programs.emplace(key, std::pair{graph, compiled});
  return compiled;
}

std::vector<DeviceBuffer> execute(Runtime& runtime, const Compiled& compiled, std::vector<u64> addresses,
                                  std::span<const compiler::Node> outputs, std::span<const u64> places) {
  const size_t inputs = addresses.size();
  std::vector<DeviceBuffer> made(outputs.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const u32 slot = compiled.output_slots[i];
    if (slot < inputs) continue;
    addresses.resize(std::max<size_t>(addresses.size(), slot + 1));
    const bool placed = i < places.size() && places[i] != 0;
    PageFormat format(outputs[i].shape, outputs[i].dtype);
    if (!placed) made[i] = runtime.allocate(format.page_bytes(), format.pages());
    addresses[slot] = placed ? places[i] : made[i].address();
  }
  runtime.run(compiled.program, addresses);
  return made;
}

void realize(std::span<const Tensor> tensors) {
  std::vector<Tensor> wanted;
  for (const Tensor& tensor : tensors) {
    if (!tensor) throw UsageError("realize: the tensor is empty; give it a value first.");
    tensor.runtime();  // is still there
    if (!has_value(tensor)) wanted.push_back(tensor);
  }
  if (wanted.empty()) return;
  Capture captured = capture(wanted);
  Runtime& runtime = runtime_of(captured);
  auto compiled = program_for(captured.graph);

  const size_t inputs = captured.externals.size();
  std::vector<u64> addresses;
  for (const auto& expr : captured.externals) addresses.push_back(expr->storage.address());
  std::vector<compiler::Node> outputs;
  for (const auto& expr : captured.outputs) outputs.push_back(expr->node);
  std::vector<DeviceBuffer> made = execute(runtime, *compiled, std::move(addresses), outputs);
  for (size_t i = 0; i < made.size(); ++i) {
    Expr& expr = *captured.outputs[i];
    const u32 slot = compiled->output_slots[i];
    expr.storage = slot < inputs ? std::move(captured.externals[slot]->storage) : std::move(made[i]);
    expr.node = {compiler::Op::external, expr.node.dtype, expr.node.shape, {}, {}, 0};
    expr.inputs.clear();  // a KV cache must not hold every past step
    expr.detached.clear();
    expr.custom.reset();
  }
}

Tensor& Tensor::realize() {
  baretile::realize({*this});
  return *this;
}

}  // namespace baretile
