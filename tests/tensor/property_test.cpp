// Whatever is written with tensors computes what it means: random programs against the host. BARETILE_SEED=N begins at
// program N, BARETILE_PROGRAMS=N takes N of them; a failing one is printed as code, without what it fails without.
#include <chrono>
#include <numeric>

#include "tensor/random_program.h"

namespace baretile::tensor_test {

using compiler::Kind;
using compiler::Op;
namespace reference = compiler::reference;

namespace {

struct Unary {
  Op op;
  Tensor (*call)(const Tensor&);
};
struct Binary {
  Op op;
  Tensor (*call)(const Tensor&, const Tensor&);
};
struct Reduction {
  Op op;
  Tensor (*call)(const Tensor&, const std::vector<i64>&, bool);
};
#define UNARY(name, ...) {Op::name, [](const Tensor& x) { return name(x); }},
constexpr Unary kUnary[] = {
#include "baretile/ops.def"
};
#define BINARY(name, ...) {Op::name, [](const Tensor& x, const Tensor& y) { return name(x, y); }},
constexpr Binary kBinary[] = {
#include "baretile/ops.def"
};
#define REDUCE(name, ...) \
  {Op::name, [](const Tensor& x, const std::vector<i64>& axes, bool keepdims) { return name(x, axes, keepdims); }},
constexpr Reduction kReductions[] = {
#include "baretile/ops.def"
};

DType operand_dtype(Kind kind, DType dtype) {
  switch (kind) {
    case Kind::floats:
    case Kind::test:
      return is_float(dtype) ? dtype : fp32;
    case Kind::logic:
      return DType::boolean;
    case Kind::equality:
    case Kind::comparison:
      return dtype;
    default:
      return dtype == DType::boolean ? DType::int32 : dtype;
  }
}
bool takes_floats(Kind kind) { return kind != Kind::bits && kind != Kind::signed_bits; }
bool is(Op op, std::initializer_list<Op> list) { return std::find(list.begin(), list.end(), op) != list.end(); }

Shape broadcast(const Shape& a, const Shape& b) {  // empty where they do not
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= out.size(); ++i) {
    const i64 x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) return {0};
    out[out.size() - i] = std::max(x, y);
  }
  return out;
}

}  // namespace

void Interpreter::unary() {
  const Unary& row = kUnary[step_.p % std::size(kUnary)];
  const auto& info = compiler::info(row.op);
  const Value& x = operand(step_.a);
  if (!takes_floats(info.kind) && is_float(x.dtype)) return;
  const DType dtype = operand_dtype(info.kind, x.dtype);
  double error = 0;
  std::optional<Array> in = converted(x, dtype, error);
  if (!in) return;
  const bool smooth = is(row.op, {Op::neg, Op::abs, Op::relu, Op::sin, Op::cos, Op::tanh, Op::erf});
  const bool rounded = info.kind == Kind::floats && !is(row.op, {Op::sign, Op::floor, Op::ceil, Op::round, Op::trunc});
  if (error > 0 && !smooth) return;
  const Array out = map(*in, [&](double v) { return reference::unary(row.op, v); });
  if (rounded) error = error * 1.2 + std::max(1.0, greatest(out)) * 0x1p-19;
  give(row.call(x.tensor), out, compiler::gives_boolean(info.kind) ? DType::boolean : dtype, error,
       fmt::format("{}({})", info.name, name(step_.a)));
}

void Interpreter::binary() {
  static constexpr double kNumbers[] = {0, 1, -1, 2, 0.5, -3, 7, -0.25};
  const Binary& row = kBinary[step_.p % std::size(kBinary)];
  const auto& info = compiler::info(row.op);
  const Value& x = operand(step_.a);
  const u32 second =
      partner(step_.b, [&](const Value& v) { return broadcast(x.array.shape, v.array.shape) != Shape{0}; });
  Value y = values[second];
  std::string right = fmt::format("t{}", second);
  DType meeting = std::max(x.dtype, y.dtype);
  if (step_.c % 4 == 0 || broadcast(x.array.shape, y.array.shape) == Shape{0}) {  // a number
    const double number = kNumbers[step_.b % std::size(kNumbers)];
    y = {Tensor(number), {{}, {number}}, x.dtype, 0};
    right = fmt::format("{}", number);
    const bool whole = std::trunc(number) == number;
    meeting = is_float(x.dtype)                                           ? x.dtype
              : !whole                                                    ? fp32
              : x.dtype == DType::boolean && (number == 0 || number == 1) ? x.dtype
              : x.dtype == DType::uint32 && number >= 0                   ? x.dtype
                                                                          : DType::int32;
    y.dtype = meeting;
  }
  if (!takes_floats(info.kind) && is_float(meeting)) return;
  const DType dtype = operand_dtype(info.kind, meeting);
  double left_error = 0, right_error = 0;
  const std::optional<Array> a = converted(x, dtype, left_error), b = converted(y, dtype, right_error);
  if (!a || !b) return;
  double error = left_error + right_error;
  if (error > 0 && !is(row.op, {Op::add, Op::sub, Op::mul, Op::maximum, Op::minimum})) return;
  if (row.op == Op::mul) error = left_error * greatest(*b) + right_error * greatest(*a) + left_error * right_error;
  const Shape shape = broadcast(a->shape, b->shape);
  const Array out = generate(shape, [&](const Shape& i) {
    const double p = a->at(i), q = b->at(i);
    if (row.op == Op::mul && is_integer(dtype)) return double(i64(u64(i64(p)) * u64(i64(q)) & 0xFFFFFFFF));
    if (row.op == Op::shift_left) return q >= 0 && q < 32 ? double(u32(i64(p)) << u32(q)) : 0.0;
    return reference::binary(row.op, p, q);
  });
  if (is(row.op, {Op::div, Op::pow})) error += greatest(out) * 0x1p-18;
  const bool swapped = step_.c % 8 == 0;  // the number on the left, where it makes no difference
  const bool symmetric = is(row.op, {Op::add, Op::mul, Op::maximum, Op::minimum, Op::equal, Op::not_equal});
  const std::string left = name(step_.a);
  give(swapped && symmetric ? row.call(y.tensor, x.tensor) : row.call(x.tensor, y.tensor), out,
       compiler::gives_boolean(info.kind) ? DType::boolean : dtype, error,
       swapped && symmetric ? fmt::format("{}({}, {})", info.name, right, left)
                            : fmt::format("{}({}, {})", info.name, left, right));
}

void Interpreter::choice() {
  const Value& x = operand(step_.a);
  const auto fits = [&](const Value& v) { return broadcast(x.array.shape, v.array.shape) != Shape{0}; };
  const u32 condition_at = partner(step_.c, fits), second = partner(step_.b, fits);
  const Value &which = values[condition_at], &y = values[second];
  const Shape shape = broadcast(broadcast(x.array.shape, y.array.shape), which.array.shape);
  if (broadcast(x.array.shape, y.array.shape) == Shape{0} || shape == Shape{0}) return;
  const DType dtype = std::max(x.dtype, y.dtype);
  double error[3] = {};
  const std::optional<Array> condition = converted(which, DType::boolean, error[0]), a = converted(x, dtype, error[1]),
                             b = converted(y, dtype, error[2]);
  if (!condition || !a || !b) return;
  give(where(which.tensor, x.tensor, y.tensor),
       generate(shape, [&](const Shape& i) { return condition->at(i) != 0 ? a->at(i) : b->at(i); }), dtype,
       std::max(error[1], error[2]), fmt::format("where(t{}, {}, t{})", condition_at, name(step_.a), second));
}

void Interpreter::view() {
  const Value& x = operand(step_.a);
  const Array& in = x.array;
  const std::string of = name(step_.a);
  const i64 rank = i64(in.shape.size());
  if (rank == 0) return give(x.tensor.unsqueeze(0), {{1}, in.values}, x.dtype, x.error, of + ".unsqueeze(0)");
  const i64 axis = axis_of(x), n = in.shape[size_t(axis)];
  const auto moved = [&](const Tensor& tensor, const Shape& shape, const std::string& code, auto source) {
    if (compiler::element_count(shape) > i64(kMost)) return;
    give(tensor, generate(shape, [&](const Shape& i) { return in.at(source(i)); }), x.dtype, x.error, of + code);
  };
  const auto along = [&](auto f) { return [f, axis](const Shape& i) { return with(i, axis, f(i[size_t(axis)])); }; };
  switch (step_.c % 8) {
    case 0:
      return moved(x.tensor.flip(axis), in.shape, fmt::format(".flip({})", axis),
                   along([&](i64 i) { return n - 1 - i; }));
    case 1:
    case 2: {
      const i64 first = i64(step_.b % u32(n)), end = first + 1 + i64(step_.b / 128 % u32(n - first)),
                step = 1 + step_.q / 8 % 3;
      return moved(x.tensor.slice(axis, first, end, step), with(in.shape, axis, (end - first + step - 1) / step),
                   fmt::format(".slice({}, {}, {}, {})", axis, first, end, step),
                   along([&](i64 i) { return first + i * step; }));
    }
    case 3: {
      std::vector<i64> order(static_cast<size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937(step_.b));
      Shape shape;
      for (const i64 a : order) shape.push_back(in.shape[size_t(a)]);
      return moved(x.tensor.permute(order), shape, fmt::format(".permute({{{}}})", fmt::join(order, ", ")),
                   [&](const Shape& i) {
                     Shape source(i.size());
                     for (size_t a = 0; a < order.size(); ++a) source[size_t(order[a])] = i[a];
                     return source;
                   });
    }
    case 4:
    case 5: {  // an axis cut in two, or joined with the next
      Shape shape = in.shape;
      i64 divisor = 1;
      for (const i64 d : {2, 3, 5, 11, 13, 32}) divisor = n % d == 0 && (step_.b % 3 || divisor == 1) ? d : divisor;
      if (step_.c % 8 == 4 && axis + 1 < rank) {
        shape[size_t(axis + 1)] *= n;
        shape.erase(shape.begin() + axis);
      } else if (rank < 5) {
        shape[size_t(axis)] = n / divisor;
        shape.insert(shape.begin() + axis, divisor);
      } else {
        shape = {i64(in.values.size())};
      }
      return give(x.tensor.reshape(shape), {shape, in.values}, x.dtype, x.error,
                  fmt::format("{}.reshape({{{}}})", of, fmt::join(shape, ", ")));
    }
    case 6: {
      Shape shape = in.shape;
      for (i64& extent : shape) extent = extent == 1 ? i64(2 + step_.b % 33) : extent;
      if (shape == in.shape && rank < 5) shape.insert(shape.begin(), 2);
      if (compiler::element_count(shape) > i64(kMost)) return;
      return moved(x.tensor.expand(shape), shape, fmt::format(".expand({{{}}})", fmt::join(shape, ", ")),
                   [&](const Shape& i) { return Shape(i.end() - rank, i.end()); });
    }
    default: {
      const i64 times = 2 + i64(step_.b % 2);
      return moved(x.tensor.repeat(axis, times), with(in.shape, axis, n * times),
                   fmt::format(".repeat({}, {})", axis, times), along([&](i64 i) { return i % n; }));
    }
  }
}

void Interpreter::move() {
  const Value& x = operand(step_.a);
  if (x.array.shape.empty()) return;
  const Array& in = x.array;
  const i64 axis = axis_of(x), n = in.shape[size_t(axis)];
  const std::string of = name(step_.a);
  if (in.values.size() * 2 > kMost) return;
  switch (step_.c % 4) {
    case 0: {
      const i64 before = i64(step_.b % 4), after = i64(step_.b / 4 % 34);
      const Array out = generate(with(in.shape, axis, before + n + after), [&](const Shape& i) {
        const i64 at = i[size_t(axis)] - before;
        return at >= 0 && at < n ? in.at(with(i, axis, at)) : 1;
      });
      return give(x.tensor.pad(axis, before, after, 1), out, x.dtype, x.error,
                  fmt::format("{}.pad({}, {}, {}, 1)", of, axis, before, after));
    }
    case 1: {
      const Array out = generate(with(in.shape, axis, 2 * n), [&](const Shape& i) {
        const i64 at = i[size_t(axis)];
        return in.at(with(i, axis, at < n ? at : 2 * n - 1 - at));
      });
      return give(concat({x.tensor, x.tensor.flip(axis)}, axis), out, x.dtype, x.error,
                  fmt::format("concat({{{}, {}.flip({})}}, {})", of, of, axis, axis));
    }
    case 2: {
      std::vector<i32> order(1 + step_.b % 5);
      for (size_t k = 0; k < order.size(); ++k) order[k] = i32((step_.b >> 3 * k) % u32(n));
      const Tensor list = Tensor::from_host(runtime_, order, {i64(order.size())});
      const Array out = generate(with(in.shape, axis, i64(order.size())),
                                 [&](const Shape& i) { return in.at(with(i, axis, order[size_t(i[size_t(axis)])])); });
      return give(x.tensor.index_select(axis, list), out, x.dtype, x.error,
                  fmt::format("{}.index_select({}, indices({{{}}}))", of, axis, fmt::join(order, ", ")));
    }
    default: {
      Tensor written = x.tensor;
      const i64 first = i64(step_.b % u32(n)), last = n - 1;
      written.assign(axis, first, x.tensor.slice(axis, last, n));
      const Array out =
          generate(in.shape, [&](const Shape& i) { return in.at(i[size_t(axis)] == first ? with(i, axis, last) : i); });
      return give(written, out, x.dtype, x.error,
                  fmt::format("[&] {{ Tensor t = {}; t.assign({}, {}, t.slice({}, {}, {})); return t; }}()", of, axis,
                              first, axis, last, n));
    }
  }
}

void Interpreter::reduction() {
  const Value& x = operand(step_.a);
  const Reduction& row = kReductions[step_.p / 8 % std::size(kReductions)];
  const bool adds = row.op == Op::sum, multiplies = row.op == Op::prod;
  const DType dtype = x.dtype == DType::boolean && !adds && !multiplies ? x.dtype : operand_dtype(Kind::ring, x.dtype);
  double error = 0;
  const std::optional<Array> in = converted(x, dtype, error);
  if (!in || (error > 0 && multiplies)) return;
  std::vector<i64> axes;
  std::vector<bool> chosen(in->shape.size());
  for (size_t axis = 0; axis < chosen.size(); ++axis) {
    chosen[axis] = step_.b >> axis & 1;
    if (chosen[axis]) axes.push_back(i64(axis));
  }
  if (axes.empty() && dtype != x.dtype) return;
  Array out = *in, sizes = map(*in, [](double v) { return std::fabs(v); });
  double count = 1, most = 0;
  for (const i64 axis : axes) {
    count *= double(in->shape[size_t(axis)]);
    out = fold(out, axis, compiler::info(row.op).identity, [&](double a, double b) {
      if (multiplies && is_integer(dtype))
        return double(u32(i64(wrapped(a, DType::uint32))) * u32(i64(wrapped(b, DType::uint32))));
      return reference::reduce(row.op, a, b);
    });
    sizes = fold(sizes, axis, 0,
                 [&](double a, double b) { return multiplies ? a + (b != 0 ? std::fabs(std::log2(b)) : 0) : a + b; });
    if (dtype == bf16 && greatest(sizes) / grid(*in) > 256)
      most = std::max(most, greatest(sizes) * 0x1p-7);  // stored between
    if (multiplies && greatest(sizes) > 20 && is_float(dtype)) return;
    if (multiplies) sizes = map(out, [](double v) { return std::fabs(v); });
  }
  if (adds && is_float(dtype))
    error = error * count + (greatest(sizes) / grid(*in) < 0x1p24 ? 0 : greatest(sizes) * 0x1p-20) + most;
  if (multiplies && is_float(dtype) && !axes.empty()) error = greatest(out) * 0x1p-18 + most;
  const bool keepdims = step_.c % 2;
  Shape shape;
  for (size_t axis = 0; axis < chosen.size(); ++axis) {
    if (!chosen[axis] || keepdims) shape.push_back(out.shape[axis]);
  }
  give(row.call(x.tensor, axes, keepdims), {shape, out.values}, dtype, error,
       fmt::format("{}({}, std::vector<i64>{{{}}}, {})", compiler::info(row.op).name, name(step_.a),
                   fmt::join(axes, ", "), keepdims));
}

namespace {

using Steps = std::vector<Interpreter::Step>;

Steps random_steps(Runtime& runtime, u32 seed) {
  std::mt19937 random(seed);
  Interpreter interpreter(runtime, false);
  Steps steps;
  const size_t wanted = 10 + random() % 11;
  for (int tries = 0; steps.size() < wanted && tries < 200; ++tries) {
    Interpreter::Step step{};
    for (u32* number : {&step.kind, &step.a, &step.b, &step.c, &step.p, &step.q}) *number = u32(random());
    if (steps.size() < 3) step.kind = 0;
    if (interpreter.run(step)) {
      steps.push_back(step);
    } else {
      interpreter.values.pop_back();
    }
  }
  return steps;
}

class Properties : public OnDevice {
 protected:
  static void run_part(u32 part);

  // What is wrong with the values that `wanted` names, or all; empty when nothing is.
  static std::string wrong(const Steps& steps, std::string* code = nullptr) {
    Interpreter interpreter(runtime(), true);
    std::vector<size_t> made;
    std::string out;
    try {
      for (size_t n = 0; n < steps.size(); ++n) {
        if (interpreter.run(steps[n])) made.push_back(n);
      }
      if (code) *code = interpreter.text;
      std::vector<Tensor> outputs;
      for (const size_t n : made) {  // the last one, and some of the others
        if (n + 1 == steps.size() || steps[n].p % 6 == 0) outputs.push_back(interpreter.values[n].tensor);
      }
      realize(outputs);
      for (const size_t n : made) {
        if (n + 1 == steps.size() || steps[n].p % 6 == 0) out += compared(interpreter.values[n], n);
      }
    } catch (const std::exception& error) {
      out += error.what();
    }
    return out;
  }

  static std::string compared(const Value& value, size_t n) {
    const std::vector<double> got = values_of(value.tensor);
    if (const u32 count = values_in_padding(runtime(), value.tensor))
      return fmt::format("t{} leaves {} values in its padding\n", n, count);
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::fabs(got[i] - value.array.values[i]) <= value.error) continue;
      return fmt::format("t{} {} element {} is {} instead of {} (within {})\n", n,
                         compiler::to_string(value.array.shape), i, got[i], value.array.values[i], value.error);
    }
    return {};
  }

  // The same steps without those that are not needed to fail.
  static Steps smallest(Steps steps) {
    for (bool shrunk = true; shrunk;) {
      shrunk = false;
      for (size_t n = steps.size(); n-- > 0 && steps.size() > 1;) {
        Steps fewer = steps;
        fewer.erase(fewer.begin() + i64(n));
        if (wrong(fewer).empty()) continue;
        steps = fewer;
        shrunk = true;
      }
    }
    return steps;
  }
};
ON_EACH_DEVICE(Properties);

u32 from_environment(const char* name, u32 otherwise) {
  const char* text = std::getenv(name);
  return text ? u32(std::strtoul(text, nullptr, 10)) : otherwise;
}

// Four tests, which ctest may run side by side.
constexpr u32 kParts = 4;
void Properties::run_part(u32 part) {
  const u32 first = from_environment("BARETILE_SEED", 1),
            count = from_environment("BARETILE_PROGRAMS", GetParam() == std::string("sim") ? 200 : 40);
  for (u32 seed = first + count * part / kParts; seed < first + count * (part + 1) / kParts; ++seed) {
    SCOPED_TRACE(fmt::format("program {}", seed));
    const Steps steps = random_steps(runtime(), seed);
    const std::string found = wrong(steps);
    if (found.empty()) continue;
    const Steps few = smallest(steps);
    std::string code;
    const std::string left = wrong(few, &code);
    ADD_FAILURE() << fmt::format("program {}: {}\n{}{}\n", seed, found, code, left);
  }
}
TEST_P(Properties, RandomProgramsComputeWhatTheyMean) { run_part(0); }
TEST_P(Properties, RandomProgramsComputeWhatTheyMean2) { run_part(1); }
TEST_P(Properties, RandomProgramsComputeWhatTheyMean3) { run_part(2); }
TEST_P(Properties, RandomProgramsComputeWhatTheyMean4) { run_part(3); }

// What random programs found.
TEST_P(Properties, WhatIsTheSameAlongAReducedAxisIsStoredForAllOfIt) {
  for (const Shape& shape : {Shape{32, 2}, Shape{40, 70}}) {
    const Array x = map(eighths(shape, 1), [](double v) { return v + 3; });
    for (const i64 axis : {0, 1}) {
      const Array total = fold(x, axis, 0, [](double a, double b) { return a + b; });
      const Array whole = generate(shape, [&](const Shape& i) { return total.at(i); });
      const auto repeated = [&] { return sum(upload(x), axis, true).expand(shape); };
      Cases cases;
      cases.add("negative", -repeated(), map(whole, [](double v) { return -v; }));
      cases.add("not_equal", not_equal(repeated(), 0), map(whole, [](double) { return 1; }));
      cases.check();
    }
  }
}

}  // namespace
}  // namespace baretile::tensor_test
