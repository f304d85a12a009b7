#include "baretile/custom.h"

#include <fmt/format.h>

#include "compiler/custom/custom.h"
#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

namespace {

CustomOp::Gradient or_none(CustomOp::Gradient gradient, const std::string& name) {
  if (gradient) return gradient;
  return [name](const Tensor&, std::span<const Tensor>) -> std::vector<Tensor> {
    throw Unsupported(fmt::format("grad: {} was made without a gradient; give it one, or detach its operands.", name));
  };
}

Tensor with_gradient(const Tensor& value, std::vector<Tensor> operands, const CustomOp::Gradient& own) {
  return custom_gradient(value, operands, [own, operands](const Tensor& g) { return own(g, operands); });
}

}  // namespace

CustomOp::CustomOp(const std::string& name, const std::string& header, Gradient gradient)
    : number_(compiler::add_custom(name, header)), gradient_(or_none(std::move(gradient), "CustomOp " + name)) {}

Tensor CustomOp::operator()(std::vector<Tensor> operands) const {
  const compiler::CustomOperation& op = compiler::custom(number_);
  if (operands.size() != op.operands)
    throw UsageError(
        fmt::format("CustomOp {}: {} operands; its header takes {}.", op.name, operands.size(), op.operands));
  const Tensor value = elementwise(compiler::Op::custom, operands, {i64(number_)});
  if (is_empty(value)) return value;  // a constant without operands
  for (u32 i = 0; i < operands.size(); ++i) operands[i] = Tensor(value.expr()->inputs[i]);
  return with_gradient(value, std::move(operands), gradient_);
}

CustomKernel::CustomKernel(const std::string& name, const std::string& text, std::vector<DType> operands, Plan plan,
                           Gradient gradient)
    : number_(compiler::add_custom_kernel(name, text)),
      operands_(std::move(operands)),
      plan_(std::move(plan)),
      gradient_(or_none(std::move(gradient), "CustomKernel " + name)) {
  if (!plan_) throw UsageError(fmt::format("CustomKernel {}: there is no plan; say what its result is.", name));
  for (const DType dtype : operands_)
    if (is_block(dtype))
      throw UsageError(fmt::format("CustomKernel {}: operands in {}; kernels get them as bf16, say that.", name,
                                   compiler::to_string(dtype)));
}

Tensor CustomKernel::operator()(std::vector<Tensor> operands) const {
  const std::string name = "CustomKernel " + compiler::custom(number_).name;
  if (operands.size() != operands_.size())
    throw UsageError(fmt::format("{}: {} operands; it takes {}.", name, operands.size(), operands_.size()));
  std::vector<Shape> shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    shapes.push_back(checked(name.c_str(), operands[i]).shape());
    if (without_blocks(operands[i].dtype()) != operands_[i])
      throw UsageError(fmt::format("{}: operand {} is {} {}; it takes {}, cast it.", name, i,
                                   compiler::to_string(operands[i].dtype()), compiler::to_string(shapes[i]),
                                   compiler::to_string(operands_[i])));
  }
  const Result result = plan_(shapes);
  compiler::check_stored(name.c_str(), result.shape, result.dtype);
  std::vector<i64> attrs{i64(number_), i64(result.items)};
  attrs.insert(attrs.end(), result.args.begin(), result.args.end());
  if (compiler::element_count(result.shape) > 0) {
    const auto refuse = [&](const std::string& why) {
      throw UsageError(fmt::format("{}: its plan gives {} {}", name, compiler::to_string(result.shape), why));
    };
    if (result.items == 0) refuse("and no items of work; give at least one.");
    if (is_block(result.dtype))
      refuse(fmt::format("in {}; give bf16, and cast it.", compiler::to_string(result.dtype)));
    if (operands.size() + attrs.size() > abi::kMaxArgs)
      refuse(fmt::format("with {} arguments in all; a kernel has {}.", operands.size() + attrs.size(), abi::kMaxArgs));
    for (size_t i = 0; i < operands.size(); ++i)
      if (is_empty(operands[i]))
        refuse(fmt::format("of operand {}, {}, which has no elements; leave it out, or pad it.", i,
                           compiler::to_string(shapes[i])));
  }
  const Tensor value = make(compiler::Op::custom_kernel, result.dtype, result.shape, operands, std::move(attrs));
  return is_empty(value) ? value : with_gradient(value, std::move(operands), gradient_);
}

}  // namespace baretile
