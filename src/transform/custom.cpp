#include "baretile/custom.h"

#include <fmt/format.h>

#include "compiler/custom/custom.h"
#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

CustomOp::CustomOp(const std::string& name, const std::string& header, Gradient gradient)
    : number_(compiler::add_custom(name, header)), gradient_(std::move(gradient)) {
  if (!gradient_)
    gradient_ = [name](const Tensor&, std::span<const Tensor>) -> std::vector<Tensor> {
      throw Unsupported(
          fmt::format("grad: CustomOp {} was made without a gradient; give it one, or detach its operands.", name));
    };
}

Tensor CustomOp::operator()(std::vector<Tensor> operands) const {
  const compiler::CustomOperation& op = compiler::custom(number_);
  if (operands.size() != op.operands)
    throw UsageError(
        fmt::format("CustomOp {}: {} operands; its header takes {}.", op.name, operands.size(), op.operands));
  const Tensor value = elementwise(compiler::Op::custom, operands, {i64(number_)});
  if (is_empty(value)) return value;  // a constant without operands
  for (u32 i = 0; i < operands.size(); ++i) operands[i] = Tensor(value.expr()->inputs[i]);
  return custom_gradient(value, operands, [own = gradient_, operands](const Tensor& g) { return own(g, operands); });
}

}  // namespace baretile
