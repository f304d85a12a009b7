#include "capi/functions.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numeric>

#include "baretile/error.h"
#include "baretile/nn.h"

namespace baretile::capi {
namespace {

using C = const Call&;

Tensor reduced(Tensor (*op)(const Tensor&, const std::vector<i64>&, bool), C c) {
  std::vector<i64> axes = c.rest(1);
  if (axes.empty()) {
    axes.resize(c[0].rank());
    std::iota(axes.begin(), axes.end(), 0);
  }
  return op(c[0], axes, c.flag(0));
}

DType dtype_at(C c, size_t i) {
  const i64 number = c.whole(i);
  if (number < 0 || number > i64(DType::fp32))
    throw UsageError(
        fmt::format("{}: {} is no dtype; give one of bt_dtype, 0 to {}", c.name, number, i64(DType::fp32)));
  return DType(number);
}

Precision precision_at(C c, size_t i) {
  const i64 number = c.whole(i);
  if (number == -1) return DefaultPrecision::now();
  if (number < 0 || number > 2)
    throw UsageError(fmt::format("{}: {} is no precision; give 0 (fast), 1 (standard) or 2 (full)", c.name, number));
  return Precision(number);
}

std::vector<Row> make_rows() {
  return {
#define UNARY(name, doc, ...) {#name "(x)", doc, [](C c) { return name(c[0]); }},
#define BINARY(name, doc, ...) {#name "(x, y)", doc, [](C c) { return name(c[0], c[1]); }},
#define TERNARY(name, doc, ...) {#name "(x, y, z)", doc, [](C c) { return name(c[0], c[1], c[2]); }},
#define REDUCE(name, doc, ...) {#name "(x; keepdims=0, axes...)", doc, [](C c) { return reduced(name, c); }},
#include "baretile/ops.def"
      {"mean(x; keepdims=0, axes...)", "mean of the elements",
       [](C c) {
         const Tensor total = reduced(sum, c);
         double count = 1;
         for (const i64 axis : c.numbers.size() > 1 ? c.rest(1) : std::vector<i64>{}) count *= double(c[0].size(axis));
         if (c.numbers.size() == 1)
           for (const i64 extent : c[0].shape()) count *= double(extent);
         return total / count;
       }},
      {"any(x; axis, keepdims=0)", "whether one is not zero", [](C c) { return any(c[0], c.whole(0), c.flag(1)); }},
      {"all(x; axis, keepdims=0)", "whether none is zero", [](C c) { return all(c[0], c.whole(0), c.flag(1)); }},
      {"var(x; axis, keepdims=0, correction=0)", "variance over an axis",
       [](C c) { return var(c[0], c.whole(0), c.flag(1), c.whole(2)); }},
      {"logsumexp(x; axis, keepdims=0)", "logarithm of the sum of e to the x",
       [](C c) { return logsumexp(c[0], c.whole(0), c.flag(1)); }},
      {"argmax(x; axis, keepdims=0)", "index of the largest, int32",
       [](C c) { return argmax(c[0], c.whole(0), c.flag(1)); }},
      {"argmin(x; axis, keepdims=0)", "index of the smallest, int32",
       [](C c) { return argmin(c[0], c.whole(0), c.flag(1)); }},
      {"argsort(x; descending=0)", "indices that sort the last axis, int32",
       [](C c) { return argsort(c[0], c.flag(0)); }},
      {"cumsum(x; axis)", "sums of all up to each", [](C c) { return cumsum(c[0], c.whole(0)); }},

      {"reshape(x; extents...)", "the same elements under another shape; one extent may be -1",
       [](C c) { return c[0].reshape(c.rest()); }},
      {"permute(x; axes...)", "axes in another order", [](C c) { return c[0].permute(c.rest()); }},
      {"transpose(x)", "the last two axes exchanged", [](C c) { return c[0].transpose(); }},
      {"expand(x; extents...)", "axes of extent 1 repeated", [](C c) { return c[0].expand(c.rest()); }},
      {"slice(x; axis, first, end, step=1)", "elements first, first + step, … before end",
       [](C c) { return c[0].slice(c.whole(0), c.whole(1), c.whole(2), c.whole(3)); }},
      {"squeeze(x; axis)", "without an axis of extent 1", [](C c) { return c[0].squeeze(c.whole(0)); }},
      {"unsqueeze(x; axis)", "with a new axis of extent 1", [](C c) { return c[0].unsqueeze(c.whole(0)); }},
      {"pad(x; axis, before, after, value=0)", "more elements at the ends of an axis",
       [](C c) { return c[0].pad(c.whole(0), c.whole(1), c.whole(2), c.number(3)); }},
      {"repeat(x; axis, times)", "an axis end to end, several times",
       [](C c) { return c[0].repeat(c.whole(0), c.whole(1)); }},
      {"flip(x; axis)", "an axis in reverse order", [](C c) { return c[0].flip(c.whole(0)); }},
      {"cast(x; dtype)", "the same values in another dtype", [](C c) { return c[0].cast(dtype_at(c, 0)); }},
      {"detach(x)", "the same value, through which no gradient flows", [](C c) { return c[0].detach(); }},
      {"concat(tensors...; axis=0)", "put end to end along an axis", [](C c) { return concat(c.tensors, c.whole(0)); }},
      {"stack(tensors...; axis=0)", "put along a new axis", [](C c) { return stack(c.tensors, c.whole(0)); }},
      {"tril(x; diagonal=0)", "zero above a diagonal", [](C c) { return tril(c[0], c.whole(0)); }},
      {"triu(x; diagonal=0)", "zero below a diagonal", [](C c) { return triu(c[0], c.whole(0)); }},

      {"matmul(x, y; precision=-1)",
       "matrix product; precision 0 is fast, 1 standard, 2 full fp32, -1 the thread's (standard, unless it was set)",
       [](C c) { return matmul(c[0], c[1], precision_at(c, 0)); }},
      {"outer(x, y)", "all products of two vectors", [](C c) { return outer(c[0], c[1]); }},
      {"floor_divide(x, y)", "x over y, rounded down", [](C c) { return floor_divide(c[0], c[1]); }},
      {"remainder(x, y)", "what floor_divide leaves, with y's sign", [](C c) { return remainder(c[0], c[1]); }},
      {"clamp(x; low, high)", "x, at least low and at most high",
       [](C c) { return clamp(c[0], c.number(0), c.number(1)); }},
      {"masked_fill(x, mask; value)", "value where mask is true, else x",
       [](C c) { return masked_fill(c[0], c[1], c.number(0)); }},
      {"one_hot(index; classes)", "1 at the index along a new last axis, fp32",
       [](C c) { return one_hot(c[0], c.whole(0)); }},
      {"index_select(x, index; axis)", "slices of an axis, chosen by int32 of one axis",
       [](C c) { return c[0].index_select(c.whole(0), c[1]); }},
      {"gather_rows(table, index)", "rows of [m, c], chosen by int32 [n]", [](C c) { return gather_rows(c[0], c[1]); }},
      {"gather(x, index; axis=-1)", "x at the index along an axis", [](C c) { return gather(c[0], c[1], c.whole(0)); }},
      {"scatter(x, index, values; axis=-1)", "x with values at the index along an axis",
       [](C c) { return scatter(c[0], c[1], c[2], c.whole(0)); }},
      {"scatter_add(x, index, values; axis=-1)", "x plus values at the index along an axis",
       [](C c) { return scatter_add(c[0], c[1], c[2], c.whole(0)); }},
      {"take(x, index)", "elements by their number in row-major order", [](C c) { return take(c[0], c[1]); }},

      {"sigmoid(x)", "1 / (1 + e^-x)", [](C c) { return sigmoid(c[0]); }},
      {"silu(x)", "x / (1 + e^-x)", [](C c) { return silu(c[0]); }},
      {"softplus(x)", "log(1 + e^x)", [](C c) { return softplus(c[0]); }},
      {"leaky_relu(x; slope=0.01)", "x where it is positive, else slope times x",
       [](C c) { return leaky_relu(c[0], c.number(0)); }},
      {"gelu(x)", "x times the normal distribution's integral up to x", [](C c) { return gelu(c[0]); }},
      {"gelu_tanh(x)", "gelu, approximated by tanh", [](C c) { return gelu_tanh(c[0]); }},
      {"softmax(x; axis=-1)", "e to the x over the sum of those along an axis",
       [](C c) { return softmax(c[0], c.whole(0)); }},
      {"log_softmax(x; axis=-1)", "logarithm of softmax", [](C c) { return nn::log_softmax(c[0], c.whole(0)); }},
      {"rms_norm(x, weight; epsilon=1e-5)", "x over its root mean square in the last axis, times weight",
       [](C c) { return rms_norm(c[0], c[1], float(c.number(0))); }},
      {"layer_norm(x, weight, bias; epsilon=1e-5)",
       "x with mean 0 and variance 1 in the last axis, times weight plus bias, which have its extent",
       [](C c) { return nn::layer_norm(c[0], c[1], c[2], float(c.number(0))); }},
      {"rope(x, cos, sin)", "rotary embedding; sin negated in its first half",
       [](C c) { return rope(c[0], c[1], c[2]); }},
      {"linear(x, weight, bias?)", "x [..., in] by the transpose of weight [out, in], plus bias [out]",
       [](C c) { return nn::linear(c[0], c[1], c[2]); }},
      {"embedding(table, index)", "rows of a table [m, c] at an int32 index of any shape: [..., c]",
       [](C c) { return nn::embedding(c[0], c[1]); }},
      {"attention(query, key, value, mask?; causal=0, scale=0)",
       "softmax(scale q kT + mask) v of [..., rows, d], [..., span, d], [..., span, e] as one kernel; scale 0 is 1 / "
       "sqrt(d), mask is boolean (what is seen) or added; causal: the last query sees all of the span",
       [](C c) {
         nn::AttentionOptions options{.mask = c[3], .causal = c.flag(0)};
         if (c.number(1) != 0) options.scale = c.number(1);
         return nn::scaled_dot_product_attention(c[0], c[1], c[2], options);
       }},
      {"mse(x, target)", "mean of the squared differences, of shape []", [](C c) { return nn::mse(c[0], c[1]); }},
      {"cross_entropy(logits, labels)",
       "mean of -log_softmax(logits) at the labels: of [n, classes] and integers [n], gives []",
       [](C c) { return nn::cross_entropy(c[0], c[1]); }},
  };
}

// The parts of a list "a, b=1, c...".
std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> found;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(", ", at), list.size());
    found.push_back(list.substr(at, end - at));
    at = end + 2;
  }
  return found;
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = make_rows();
  return all;
}

const std::vector<bt_op>& operations() {
  static const std::vector<bt_op> all(rows().begin(), rows().end());
  return all;
}

i64 Call::whole(size_t i) const {
  if (std::trunc(numbers[i]) != numbers[i] || std::abs(numbers[i]) > 0x1p53)
    throw UsageError(fmt::format("{}: {} stands where a whole number belongs", name, numbers[i]));
  return i64(numbers[i]);
}

std::vector<i64> Call::rest(size_t first) const {
  std::vector<i64> list;
  for (size_t i = first; i < numbers.size(); ++i) list.push_back(whole(i));
  return list;
}

Tensor apply(const bt_op& op, std::vector<Tensor> given, std::vector<double> numbers) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{}: {}; it is {}", op.name, why, op.row->signature));
  };
  if (given.size() < op.least_tensors || (!op.tensor_list && given.size() > op.tensors))
    refuse(fmt::format("{} tensors", given.size()));
  for (size_t i = 0; i < (op.tensor_list ? given.size() : op.least_tensors); ++i)
    if (!given[i]) refuse(fmt::format("tensor {} is NULL", i));
  if (!op.tensor_list) given.resize(op.tensors);
  if (!op.number_list && numbers.size() > op.defaults.size()) refuse(fmt::format("{} numbers", numbers.size()));
  for (size_t i = numbers.size(); i < op.defaults.size(); ++i) {
    if (std::isnan(op.defaults[i])) refuse(fmt::format("{} numbers are too few", numbers.size()));
    numbers.push_back(op.defaults[i]);
  }
  return op.row->call({op.name, std::move(given), std::move(numbers)});
}

}  // namespace baretile::capi

bt_op::bt_op(const baretile::capi::Row& row_) : row(&row_) {
  const std::string text = row->signature;
  const size_t open = text.find('('), middle = std::min(text.find("; "), text.size() - 1);
  name = text.substr(0, open);
  for (const std::string& part : baretile::capi::parts(text.substr(open + 1, middle - open - 1))) {
    tensor_list = part.ends_with("...");
    tensors += !tensor_list;
    least_tensors += !tensor_list && !part.ends_with("?");
  }
  if (tensor_list) least_tensors = 1;
  if (middle == text.size() - 1) return;
  for (const std::string& part : baretile::capi::parts(text.substr(middle + 2, text.size() - middle - 3))) {
    number_list = part.ends_with("...");
    const size_t equals = part.find('=');
    if (number_list) continue;
    double value = NAN;
    if (equals != part.npos) std::from_chars(part.data() + equals + 1, part.data() + part.size(), value);
    defaults.push_back(value);
  }
}
