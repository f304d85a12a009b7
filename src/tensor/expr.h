// A node of the caller's expression graph, shared by the tensors that use it.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "baretile/autograd.h"
#include "baretile/runtime.h"
#include "baretile/tensor.h"
#include "compiler/compiler.h"

namespace baretile {

// A gradient that the caller gave, for other expressions than the node's own inputs; null where it is detached.
struct CustomGradient {
  std::vector<std::shared_ptr<Expr>> inputs;
  GradientFunction gradient;
};

struct Expr {
  compiler::Node node;  // its inputs are the members `inputs`
  std::vector<std::shared_ptr<Expr>> inputs;
  std::vector<u32> detached;  // the inputs to which no gradient flows
  std::unique_ptr<CustomGradient> custom;
  std::shared_ptr<Runtime* const> home;  // Runtime::self(); null: of no device
  DeviceBuffer storage;                  // of an external, in the default tiling
  Runtime* runtime() const;              // null: of no device; UsageError where it was destroyed
  void place(const Runtime* on) { home = on ? on->self() : nullptr; }
  ~Expr();  // without recursion: chains grow long
};

// A node over the inputs, on their device. Whatever reads or makes block formats, but for casts, does so in bf16. What
// has no elements, or is made of such, is a constant: it takes neither memory nor work.
Tensor make(compiler::Op op, DType dtype, Shape shape, std::vector<Tensor> inputs, std::vector<i64> attrs = {});
inline bool is_empty(const Tensor& x) { return compiler::element_count(x.shape()) == 0; }
const Tensor& checked(const char* op, const Tensor& x);  // a tensor with a value or a recipe

// Element by element over broadcast operands, in the dtype that the operation's kind makes of theirs.
Tensor elementwise(compiler::Op op, std::vector<Tensor> operands, std::vector<i64> attrs = {});

Tensor iota(Runtime* runtime, Shape shape, DType dtype = DType::int32);
inline Tensor iota(Runtime* runtime, i64 count, DType dtype = DType::int32) {
  return iota(runtime, Shape{count}, dtype);
}
Tensor filled(Runtime* runtime, Shape shape, double value, DType dtype);

// All values, row-major, into the caller's memory, which has room for just these; of the type that to_host… gives.
void download(const Tensor& tensor, std::span<float> values);
void download(const Tensor& tensor, std::span<i32> values);
void download(const Tensor& tensor, std::span<u32> values);

// The graph under some tensors. Writes in place that it contains are outputs of their own, after the wanted ones.
struct Capture {
  compiler::Graph graph;
  std::vector<std::shared_ptr<Expr>> externals, outputs;
};
Capture capture(std::span<const Tensor> tensors);

// The graph's Program, compiled once.
std::shared_ptr<const compiler::Compiled> program_for(const compiler::Graph& graph);
// Runs it on the externals' addresses; a buffer for each of the graph's outputs, none where it was written in place or
// where `places` has its address.
std::vector<DeviceBuffer> execute(Runtime& runtime, const compiler::Compiled& compiled, std::vector<u64> addresses,
                                  std::span<const compiler::Node> outputs, std::span<const u64> places = {});

}  // namespace baretile
