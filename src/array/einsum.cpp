#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile {

using compiler::to_string;

namespace {

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

// x, whose axes are `from`, with the axes `to`: summed over those that are missing there, 1 where `from` lacks one.
Tensor arranged(Tensor x, std::string from, const std::string& to) {
  for (size_t axis = from.size(); axis-- > 0;) {
    if (has(to, from[axis])) continue;
    x = sum(x, i64(axis));
    from.erase(axis, 1);
  }
  std::vector<i64> order;
  for (const char letter : to) {
    if (has(from, letter)) order.push_back(i64(from.find(letter)));
  }
  x = x.permute(order);
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (!has(from, to[axis])) x = x.unsqueeze(i64(axis));
  }
  return x;
}

}  // namespace

Tensor einsum(const std::string& given, const std::vector<Tensor>& operands) {
  std::string formula = given;
  std::erase(formula, ' ');
  const size_t arrow = formula.find("->"), comma = formula.find(',');
  const auto wrong = [&](const std::string& why) {
    return UsageError(fmt::format("einsum: \"{}\": {}", formula, why));
  };
  if (arrow == std::string::npos) throw wrong("it has no arrow; write what the result's axes are.");
  const size_t count = 1 + size_t(std::count(formula.begin(), formula.end(), ','));
  if (count > 2) throw wrong("it names more than two operands; join them two by two.");
  if (operands.size() != count) throw wrong(fmt::format("it names {} operands, not {}.", count, operands.size()));
  const std::string out = formula.substr(arrow + 2), a = formula.substr(0, std::min(comma, arrow)),
                    b = count == 2 ? formula.substr(comma + 1, arrow - comma - 1) : "";
  for (size_t n = 0; n < count; ++n) {
    const std::string& letters = n == 0 ? a : b;
    if (letters.size() != operands[n].rank())
      throw wrong(fmt::format("'{}' stands for {}.", letters, to_string(operands[n].shape())));
    for (size_t i = 0; i < letters.size(); ++i) {
      if (has(letters.substr(i + 1), letters[i]))
        throw wrong(fmt::format("'{}' stands twice in one operand.", letters[i]));
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!has(a, out[i]) && !has(b, out[i])) throw wrong(fmt::format("'{}' is no axis of an operand.", out[i]));
    if (has(out.substr(i + 1), out[i])) throw wrong(fmt::format("'{}' stands twice in the result.", out[i]));
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (const size_t at = a.find(b[i]); at != std::string::npos && operands[0].shape()[at] != operands[1].shape()[i])
      throw wrong(
          fmt::format("'{}' is {} and {}; both must agree.", b[i], operands[0].shape()[at], operands[1].shape()[i]));
  }
  if (count == 1) return arranged(operands[0], a, out);
  std::string batch, rows, cols, inner;
  for (const char letter : a) {
    if (has(out, letter)) (has(b, letter) ? batch : rows) += letter;
    if (!has(out, letter) && has(b, letter)) inner += letter;
  }
  for (const char letter : b) {
    if (has(out, letter) && !has(a, letter)) cols += letter;
  }
  const Tensor x = arranged(operands[0], a, batch + rows + inner), y = arranged(operands[1], b, batch + inner + cols);
  const auto product_of = [&](const Tensor& t, size_t first, size_t length) {
    i64 extent = 1;
    for (size_t i = first; i < first + length; ++i) extent *= t.shape()[i];
    return extent;
  };
  Shape x_shape(x.shape().begin(), x.shape().begin() + i64(batch.size())),
      y_shape(y.shape().begin(), y.shape().begin() + i64(batch.size()));
  x_shape.insert(x_shape.end(),
                 {product_of(x, batch.size(), rows.size()), product_of(x, batch.size() + rows.size(), inner.size())});
  y_shape.insert(y_shape.end(),
                 {product_of(y, batch.size(), inner.size()), product_of(y, batch.size() + inner.size(), cols.size())});
  const Tensor product = matmul(x.reshape(x_shape), y.reshape(y_shape));
  Shape shape(product.shape().begin(), product.shape().end() - 2);
  shape.insert(shape.end(), x.shape().begin() + i64(batch.size()), x.shape().begin() + i64(batch.size() + rows.size()));
  shape.insert(shape.end(), y.shape().begin() + i64(batch.size() + inner.size()), y.shape().end());
  return arranged(product.reshape(shape), batch + rows + cols, out);
}

}  // namespace baretile
