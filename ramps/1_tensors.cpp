// Ramp 1, tensors: what you write, what becomes of it on the chip, and what a result may be trusted with.
// Read it beside its output, docs/ramps.md. Every step prints what it shows and checks it; a failed check makes the
// program return 1.
#include <baretile/baretile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

using namespace baretile;

namespace {

int failures = 0;

void step(const char* title) { std::cout << "\n== " << title << '\n'; }

void check(bool good, const char* what) {
  if (good) return;
  std::cout << "CHECK FAILED: " << what << '\n';
  ++failures;
}

bool equals(const Tensor& x, const std::vector<float>& expected) { return x.to_host() == expected; }

// Runs `body` and returns how many kernels the chip ran for it.
u64 launches(Runtime& rt, const std::function<void()>& body) {
  const u64 before = rt.stats().launches;
  body();
  return rt.stats().launches - before;
}

// A Runtime is one open chip: a card, or a simulator of one. A tensor lies in that chip's memory.
void tensors(Runtime& rt) {
  step("1. Tensors");
  Tensor x = Tensor::of(rt, {{1, -2}, {3, 4}});
  Tensor w = Tensor::of(rt, {{2, 0}, {0, 3}});
  std::cout << relu(matmul(x, w)) << '\n';  // relu(v) is v where it is positive, else 0
  check(equals(relu(matmul(x, w)), {2, 0, 6, 12}), "relu(x @ w)");
  Tensor above_zero = Tensor::of(rt, {{1, 2}, {3, 4}});  // nothing here for relu to cut off
  std::cout << relu(matmul(above_zero, w)) << '\n';
  check(equals(relu(matmul(above_zero, w)), {2, 6, 6, 12}), "relu(x @ w) of positive numbers");

  // Shapes broadcast as NumPy's: an axis of 1 repeats, and missing axes stand in front. Reductions name an axis, -1 is
  // the last.
  Tensor rows = sum(x, 1, true);  // [2, 1]
  std::cout << "sums of rows " << rows << ", each row less its sum " << x - rows << '\n';
  check(equals(x - rows, {2, -1, -4, -3}), "broadcasting");

  // Comparisons give booleans; where() chooses by them. Views (reshape, slice, transpose, …) give other looks at the
  // same elements.
  std::cout << "x > 0 is " << (x > 0) << ", chosen by it " << where(x > 0, x, 100) << ", transposed " << x.transpose()
            << '\n';
  check(equals(where(x > 0, x, 100), {1, 100, 3, 4}), "where");
}

// An expression is written down, not computed. It runs when its value is needed: printed, copied to the host, or
// realize()d.
void laziness(Runtime& rt) {
  step("2. Nothing runs before it must");
  Tensor x = Tensor::of(rt, {{1, -2}, {3, 4}}), y;
  const u64 written_down = launches(rt, [&] { y = relu(matmul(x, x)) * 2 + 1; });
  const u64 first = launches(rt, [&] { y.realize(); });
  const u64 again = launches(rt, [&] { y.realize(); });
  std::cout << "launches: " << written_down << " when written down, " << first << " when needed, " << again
            << " when needed again\n";
  check(written_down == 0 && first == 1 && again == 0, "an expression runs once, when it is needed");
}

// The compiler cuts an expression into kernels. A kernel is five small programs for the five cores of a tile; every
// tile runs it on its part of the result. Between two kernels a value goes through DRAM, inside one it stays in the
// tile, so few kernels are good kernels. explain() says which kernels there are, and why each value that one leaves
// could not stay inside.
void fusion(Runtime& rt) {
  step("3. Fusion");
  const auto square = [&](float value) { return Tensor::from_host(rt, std::vector<float>(64 * 64, value), {64, 64}); };
  Tensor x = square(0.5f), w = square(0.25f), v = square(1);

  Tensor one = relu(matmul(x, w) + 1) * 3;  // arithmetic on the product while it is in the tile's registers
  std::cout << explain(one);
  check(launches(rt, [&] { one.realize(); }) == 1, "a product and what follows it are one kernel");

  Tensor soft = softmax(x);  // reductions along a row, and what they are combined with
  std::cout << explain(soft);
  check(launches(rt, [&] { soft.realize(); }) == 1, "a softmax is one kernel");

  Tensor two = matmul(relu(matmul(x, w)), v);  // the matrix unit is fed from memory, so the inner product must go there
  std::cout << explain(two);
  check(launches(rt, [&] { two.realize(); }) == 2, "a product of a product is two kernels");

  // Without fusion: each value is asked for by itself.
  const u64 apart = launches(rt, [&] {
    Tensor product = matmul(x, w).realize(), more = (product + 1).realize(), positive = relu(more).realize();
    one = (positive * 3).realize();
  });
  std::cout << "the first one, step by step: " << apart << " launches\n";
  check(apart == 4 && one.to_host()[0] == 27, "step by step gives the same");
}

// Relative error of the worst of the values that come back from a format.
double worst(const std::vector<float>& values, const Tensor& stored) {
  const std::vector<float> back = stored.cast(DType::fp32).to_host();
  double result = 0;
  for (size_t i = 0; i < values.size(); ++i) result = std::max(result, std::abs(double(back[i]) / values[i] - 1));
  return result;
}

// fp32 has 24 significant bits. bf16 keeps 8 of them in half the memory. bfp8 and bfp4 are for weights: 16 neighbours
// share one exponent, so values beside a much larger one lose more. Arithmetic is done in fp32 whatever the format;
// only what is stored is rounded.
void formats(Runtime& rt) {
  step("4. Formats");
  std::vector<float> alike, spread;  // two rows of 16: within a factor of 2, and within 2^15
  for (int i = 0; i < 32; ++i) {
    alike.push_back(1 + float(i % 16) / 18);
    spread.push_back(std::ldexp(alike.back(), i % 16));
  }
  const Tensor a = Tensor::from_host(rt, alike, {2, 16}), s = Tensor::from_host(rt, spread, {2, 16});
  std::printf("largest relative error     of neighbours alike   of neighbours far apart\n");
  const struct {
    const char* name;
    DType dtype;
    double bound;  // 2^-k / 2 for k bits after the leading one
  } rows[] = {{"fp32", DType::fp32, 0},
              {"bf16", DType::bf16, 0x1p-8},
              {"bfp8", DType::bfp8, 0x1p-7},
              {"bfp4", DType::bfp4, 0x1p-3}};
  for (const auto& row : rows) {
    const double near = worst(alike, a.cast(row.dtype)), far = worst(spread, s.cast(row.dtype));
    std::printf("%-26s %-21.3g %.3g\n", row.name, near, far);
    check(near <= row.bound, row.name);
    check(is_block(row.dtype) ? far == 1 : far <= row.bound,
          "only block formats lose small neighbours, here all of them");
  }

  // Integers are exact modulo 2^32.
  const Tensor big = Tensor::full(rt, {}, 2147483647, DType::int32);
  std::cout << "int32: 2147483647 + 1 = " << big + 1 << '\n';
  check((big + 1).to_host_int32()[0] == INT32_MIN, "int32 wraps");

  // The matrix unit multiplies few bits at a time, and a product says how many it shall take in all. 1 + 2^-12 has 13
  // significant bits.
  const Tensor x = Tensor::from_host(rt, std::vector<float>(32 * 32, 1 + 0x1p-12f), {32, 32});
  const Tensor ones = Tensor::from_host(rt, std::vector<float>(32 * 32, 1), {32, 32});
  const double exact = 32 * (1 + 0x1p-12);
  const auto error = [&](Precision p) { return std::abs(matmul(x, ones, p).to_host()[0] / exact - 1); };
  const double standard = error(Precision::standard), full = error(Precision::full);
  std::printf("error of a matmul of fp32: standard %.2g, full %.2g\n", standard, full);
  check(standard < 0x1p-9 && full < 0x1p-21, "precision of a matmul");
}

// grad() walks an expression backwards and gives more expressions: the slope of a number by each of some tensors. They
// are as lazy as any other and fuse with the rest.
void gradients(Runtime& rt) {
  step("5. Gradients");
  Tensor x = Tensor::of(rt, {{1, 2}, {3, 4}}), y = Tensor::of(rt, {{1}, {1}}), w = Tensor::of(rt, {{1}, {-1}});
  Tensor loss = sum((matmul(x, w) - y) * (matmul(x, w) - y));
  Tensor slope = grad(loss, {w})[0];
  realize({loss, slope});  // both in one go
  std::cout << "loss " << loss << ", by w " << slope << '\n';
  // By hand: x w - y = [-2, -2], so the loss is 8 and its slope 2 xT [-2, -2] = [-16, -24].
  check(equals(loss, {8}) && equals(slope, {-16, -24}), "the slope by hand");
}

// Each new expression is searched for kernels again. A Jit traces a function once for each combination of shapes; later
// calls only replay what was found. State tensors go in and come out of every call: here the weights that a step of
// gradient descent changes.
void jit(Runtime& rt) {
  step("6. A training step, traced once");
  const Tensor x = Tensor::of(rt, {{0}, {1}, {2}, {3}}),
               y = 2 * x + 1;  // what shall be found: a slope of 2, an offset of 1
  Tensor w = Tensor::zeros(rt, {1, 1}), b = Tensor::zeros(rt, {1, 1});
  Jit train(
      [&](const std::vector<Tensor>& in) {
        Tensor loss = nn::mse(in[0] * w + b, in[1]);
        std::vector<Tensor> slopes = grad(loss, {w, b});
        w = w - 0.1 * slopes[0];
        b = b - 0.1 * slopes[1];
        return std::vector{loss};
      },
      {&w, &b});
  float loss = 0;
  for (int i = 0; i < 60; ++i) {
    loss = train({x, y})[0].to_host()[0];
    if (i % 20 == 0) std::printf("step %2d: loss %.5f\n", i, loss);
  }
  std::cout << "after 60 steps and " << train.traces() << " trace: w = " << w << ", b = " << b << '\n';
  check(train.traces() == 1 && loss < 1e-3, "the line is found");
  check(std::abs(w.to_host()[0] - 2) < 0.05 && std::abs(b.to_host()[0] - 1) < 0.1, "its slope and offset");
}

// Mistakes throw, and say what is wrong and what to do; nothing is repaired silently. docs/errors.md lists them.
void mistakes(Runtime& rt) {
  step("7. Mistakes");
  try {
    Tensor::ones(rt, {3, 4}) + Tensor::ones(rt, {4, 4});
    check(false, "shapes that do not fit must throw");
  } catch (const UsageError& error) {
    std::cout << error.what() << '\n';
  }
}

}  // namespace

int main() try {
  Runtime rt;  // the device that BARETILE_DEVICE names, else the first that is there
  tensors(rt);
  laziness(rt);
  fusion(rt);
  formats(rt);
  gradients(rt);
  jit(rt);
  mistakes(rt);
  if (failures == 0) std::cout << "\nevery check passed\n";
  return failures != 0;
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
