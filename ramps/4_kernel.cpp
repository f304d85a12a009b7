// Lesson 4: an operation of your own. What the vector unit does to a value, with its gradient; the compiler makes the
// programs of all five cores around it, together with whatever stands next to it in an expression.
#include <baretile/baretile.h>

#include <cmath>
#include <iostream>

using namespace baretile;

static void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("not as expected: ") + what);
}

// The vector unit works on 32 values at a time, in eight registers. Registers are template parameters, so that the
// compiler decides which ones: D gets the result, A holds the operand and keeps its value, whatever follows is free to
// use. Each line below is one instruction; reciprocal is the library's. "Zero stays zero" tells the compiler that the
// padding behind the last row and column needs no mask.
static const std::string kSoftsign = R"(#include "sfpu/reciprocal.h"

namespace baretile::kernel::sfpu {

// x / (1 + |x|). Zero stays zero.
template <u32 D, u32 A, u32 T, u32 S, u32 P>
inline void softsign() {
  magnitude<P, A>();
  kernel::add<P, P, kOne>();
  reciprocal<D, P, T, S>();
  multiply<D, D, A>();
}

}  // namespace baretile::kernel::sfpu
)";

int main() try {
  Runtime rt;
  // The gradient is an expression like any other: of the result's gradient and the operands.
  const CustomOp softsign("softsign", kSoftsign, [](const Tensor& g, std::span<const Tensor> x) {
    const Tensor r = reciprocal(abs(x[0]) + 1);
    return std::vector{g * r * r};
  });

  // 1. On its own, beside the host's arithmetic.
  const Tensor x = Tensor::of(rt, {{-3, -1, -0.25}, {0, 1, 7}});
  std::cout << "1. softsign(" << x << ") = " << softsign({x}) << '\n';
  const std::vector<float> in = x.to_host(), out = softsign({x}).to_host();
  for (size_t i = 0; i < in.size(); ++i) check(std::fabs(out[i] - in[i] / (1 + std::fabs(in[i]))) < 1e-6f, "softsign");

  // 2. Between others: the product is still in the matrix unit's registers when softsign gets it, and nothing goes to
  // memory before the sum is done. One kernel, as for operations of the library.
  Tensor a = Tensor::linspace(rt, -2, 2, 64 * 64).reshape({64, 64}), w = Tensor::eye(rt, 64, 64) * 0.5;
  realize({a, w});
  Tensor y = relu(softsign({matmul(a, w)}) + 0.25);
  const u64 before = rt.stats().launches;
  y.realize();
  const u64 launches = rt.stats().launches - before;
  std::cout << "2. relu(softsign(matmul(a, w)) + 0.25): " << launches << " launch\n";
  check(launches == 1, "the number of launches");

  // 3. Backwards, and against a difference quotient.
  const Tensor slope = grad(sum(softsign({x})), {x})[0];
  std::cout << "3. its slope: " << slope << '\n';
  const double step = 1.0 / 64;
  const std::vector<float> up = softsign({x + step}).to_host(), down = softsign({x - step}).to_host(),
                           s = slope.to_host();
  for (size_t i = 0; i < s.size(); ++i)
    check(std::fabs((up[i] - down[i]) / (2 * step) - s[i]) < 0.02,
          "the slope");  // of x = 0 most, where |x| has its corner

  // 4. In a training step: a parameter in front of it moves so that the result comes nearer to a target.
  Tensor p = Tensor::full(rt, {32, 32}, 0.1);
  const Tensor target = Tensor::full(rt, {32, 32}, 0.5);
  double first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    const Tensor error = softsign({p}) - target, loss = sum(error * error) / 1024;
    Tensor next = p - 500 * grad(loss, {p})[0];
    realize({loss, next});
    p = next;
    (i == 0 ? first : last) = loss.to_host()[0];
  }
  std::cout << "4. the loss falls from " << first << " to " << last << '\n';
  check(last < first / 100, "the loss");
  std::cout << "all of it was checked\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
