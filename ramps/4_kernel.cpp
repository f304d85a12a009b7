// Lesson 4: operations of your own, with gradients, between those of the library. First all programs of a tile
// together; then what the vector unit does to a value, around which the compiler makes the programs itself.
#include <baretile/baretile.h>

#include <cmath>
#include <iostream>

using namespace baretile;

static void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("not as expected: ") + what);
}
static void check_close(const std::vector<float>& got, const std::vector<double>& want, double most, const char* what) {
  check(got.size() == want.size(), what);
  for (size_t i = 0; i < got.size(); ++i) check(std::fabs(got[i] - want[i]) <= most, what);
}

// --- All programs of a tile ---
// Each value becomes a mix of its neighbours in the row: y[c] = sum over s of weight[s - c] x[s]. As a matrix product,
// the right operand has weights along its diagonal and zeros elsewhere. matmul would read all its tiles, most of them
// for nothing. As long as no weight reaches further than 32 columns, a tile of y takes three tiles of x, its own and
// those beside it, and three tiles of weights, which are the same everywhere. The library has no such operation.
//
// Pages go through the tile as in lesson 2: NCRISC fetches them, T0 unpacks them for the matrix unit, which T1 drives;
// T2 packs the result, BRISC stores it. All five work at once, on different pages; the classes from kernels/ make each
// of them wait for what it needs.
static const std::string kBanded = R"(
#include "kernels/compute.h"
using namespace baretile;
using namespace baretile::kernel;

// The arguments: where x, the weights and the result begin in DRAM, how many tiles there are, and how many in a row.
enum { kX, kWeights, kResult, kItems, kColumns };
constexpr u32 kPage = 4096;  // 32 x 32 values in fp32

// The tiles of x that go into tile `item`; at the ends of a row there is no neighbour. (One before 0 is a large u32.)
template <class Body>
inline void for_neighbours(u32 item, u32 columns, Body body) {
  for (u32 n = 0; n < 3; ++n)
    if (item % columns + n - 1 < columns) body(item + n - 1, n);
}

// Every tile of the chip runs this text; items() gives each its share of the work.
extern "C" void kernel_ncrisc(const u32* args) {
  Reader<kPage> in;  // the ring of pages in L1 from here to T0
  for (const u32 item : items(args[kItems]))
    for_neighbours(item, args[kColumns], [&](u32 tile, u32 n) {
      in.read<kPage>(args[kX], tile);
      in.read<kPage>(args[kWeights], n);
    });
  in.finish();
}
extern "C" void kernel_trisc0(const u32* args) {
  Unpacker<kPage> in;
  in.to_src_b<Format::fp32, 1024>();  // left operands: 1024 values a page, rounded to tf32 on the way
  in.to_src_a<Format::fp32>();        // right operands
  for (const u32 item : items(args[kItems]))
    for_neighbours(item, args[kColumns], [&](u32, u32) {
      in.left(in.page());
      in.right(in.page());
      in.next();  // when both are in the matrix unit's registers, NCRISC may have their place in L1
    });
  drain();
}
extern "C" void kernel_trisc1(const u32* args) {
  setup_math<Format::fp32>();
  record_tile_product<false>();  // 16 MVMULs, which are a product of two tiles; false: the right one is not transposed
  for (const u32 item : items(args[kItems])) {
    acquire_dst();  // T2 has packed what was there
    begin_products();
    zero_rows<0, 64>();
    for_neighbours(item, args[kColumns], [](u32, u32) {
      product<16, 4, 0, kSrcA | kSrcB>();  // played four times, for four parts of the mantissas; adds to Dst row 0 on
    });
    end_products();
    fused_neighbours(item);  // what the compiler adds: operations on the tile in Dst, before it goes to T2
    release_dst();
  }
  drain();
}
extern "C" void kernel_trisc2(const u32* args) {
  Packer<kPage> out;
  out.to<Format::fp32>();
  for ([[maybe_unused]] const u32 item : items(args[kItems])) {
    out.acquire();
    out.tile<0>();
    out.release();
  }
  drain();
}
extern "C" void kernel_brisc(const u32* args) {
  Writer<kPage> out;
  for (const u32 item : items(args[kItems])) out.write<kPage>(args[kResult], item);
  out.finish();
}
)";

// What the library must know besides: the operands' dtypes, what comes out, into how many pieces the work falls, and
// the gradient, an expression like any other. Here, it is the same operation with the weights turned round: what went
// from s to c comes back from c to s. A weight's own gradient collects all pairs that it brought together.
static CustomKernel banded() {
  const auto plan = [](std::span<const Shape> in) {
    if (in[0].size() != 2 || in[0][1] % 32 != 0 || in[1] != Shape{96, 32})
      throw UsageError("banded: give x as [rows, 32 n] and three tiles of weights, [96, 32].");
    const u32 columns = u32(in[0][1] / 32), rows = u32((in[0][0] + 31) / 32);
    return CustomKernel::Result{.shape = in[0], .items = rows * columns, .args = {columns}};
  };
  const auto gradient = [](const Tensor& g, std::span<const Tensor> in) {
    const Tensor back = in[1].reshape({3, 32, 32}).flip(0).transpose().reshape({96, 32});
    const Tensor wide = in[0].pad(1, 32, 32), tiles = g.reshape({-1, 32});
    std::vector<Tensor> parts;
    for (i64 n = 0; n < 96; n += 32)
      parts.push_back(matmul(wide.slice(1, n, n + g.size(1)).reshape({-1, 32}).transpose(), tiles));
    return std::vector{banded()({g, back}), concat(parts, 0)};
  };
  return CustomKernel("banded", kBanded, {DType::fp32, DType::fp32}, plan, gradient);
}

// Weights of what stands to the left, of the value itself and of what stands to the right, as three tiles; and what
// they make of x, on the host.
static Tensor band(Runtime& rt, const std::vector<float>& w) {
  std::vector<float> tiles(96 * 32);
  for (size_t s = 0; s < 96; ++s)  // a column of x, from the tile before on; 32 + c is the one above c
    for (size_t c = 0; c < 32; ++c)
      if (s + 1 >= 32 + c && s <= 33 + c) tiles[32 * s + c] = w[s + 1 - 32 - c];
  return Tensor::from_host(rt, tiles, {96, 32});
}
static std::vector<double> mixed(const std::vector<float>& x, size_t columns, const std::vector<float>& w) {
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = w[1] * x[i];
    if (i % columns > 0) y[i] += w[0] * x[i - 1];
    if (i % columns + 1 < columns) y[i] += w[2] * x[i + 1];
  }
  return y;
}

static void own_kernel(Runtime& rt) {
  const size_t rows = 70, columns = 128;
  const std::vector<float> w{0.125, 0.5, 0.25};
  const Tensor weights = band(rt, w);
  std::vector<float> in(rows * columns);
  for (size_t i = 0; i < in.size(); ++i) in[i] = float(i * 37 % 101) / 8 - 6;
  const Tensor x = Tensor::from_host(rt, in, {70, 128});

  const Tensor impulse = equal(Tensor::arange(rt, 0, 64), 32).cast(DType::fp32).reshape({1, 64});
  std::cout << "1. a 1 in column 32, where a tile begins, becomes " << banded()({impulse, weights}).slice(1, 30, 35)
            << '\n';
  realize({x, weights});
  const u64 before = rt.stats().launches;
  const std::vector<float> out = banded()({x, weights}).to_host();
  std::cout << "   " << rows << " x " << columns << " values: " << rt.stats().launches - before
            << " launch for 12 tiles of work\n";
  check_close(out, mixed(in, columns, w), 0, "the mix of neighbours");  // few bits: nothing was rounded

  // When x changes, sum(y * k) does so by the mix of k with the weights turned round.
  const Tensor k = (x * 0.5 + 1).detach(), loss = sum(banded()({x, weights}) * k);
  const std::vector<Tensor> slopes = grad(loss, {x, weights});
  const std::vector<float> ks = k.to_host();
  check_close(slopes[0].to_host(), mixed(ks, columns, {w[2], w[1], w[0]}), 0, "the gradient of x");
  double diagonal = 0;  // of the weight from column 0 of a tile to column 0
  for (size_t i = 0; i < in.size(); i += 32) diagonal += double(in[i]) * ks[i];
  const Tensor weight = slopes[1].slice(0, 32, 33).slice(1, 0, 1);
  std::cout << "2. its gradients: of x " << slopes[0].slice(0, 0, 1).slice(1, 0, 3) << ", of a weight " << weight
            << '\n';
  check_close(weight.to_host(), {diagonal}, 1e-3 * diagonal, "the gradient of a weight");
}

// --- What the vector unit does to a value ---
// For an operation element by element, the compiler makes all five programs, for any shape and dtype, together with
// whatever stands next to it. The vector unit works on 32 values at a time, in eight registers, which are template
// parameters, so that the compiler decides which ones: D gets the result, A holds the operand and keeps its value,
// whatever follows is free to use. Each line is one instruction; reciprocal is the library's. "Zero stays zero" tells
// the compiler that the padding behind the last row and column needs no mask.
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

static void own_values(Runtime& rt) {
  const CustomOp softsign("softsign", kSoftsign, [](const Tensor& g, std::span<const Tensor> x) {
    const Tensor r = reciprocal(abs(x[0]) + 1);
    return std::vector{g * r * r};
  });
  const Tensor x = Tensor::of(rt, {{-3, -1, -0.25}, {0, 1, 7}}), slope = grad(sum(softsign({x})), {x})[0];
  std::cout << "3. softsign(" << x << ") = " << softsign({x}) << ", slope " << slope << '\n';
  std::vector<double> want, slopes;
  for (const float v : x.to_host()) {
    want.push_back(v / (1 + std::fabs(double(v))));
    slopes.push_back(std::pow(1 + std::fabs(double(v)), -2));
  }
  check_close(softsign({x}).to_host(), want, 1e-6, "softsign");
  check_close(slope.to_host(), slopes, 1e-6, "its slope");

  // Both between operations of the library. What stands before a kernel of its own goes to memory, where that kernel
  // reads, as before any product. What stands behind it is done where the text says fused_neighbours, if it takes no
  // other operand: softsign is one more line there, as it is behind a product of the library.
  Tensor a = sin(Tensor::linspace(rt, 0, 5000, 64 * 64)).reshape({64, 64}), weights = band(rt, {0.25, 0.5, 0.25});
  realize({a, weights});
  Tensor y = relu(softsign({banded()({exp(a) - 1, weights})}) + 0.25), product = softsign({matmul(a, a)}) + 0.25;
  std::cout << "4. relu(softsign(banded(exp(a) - 1)) + 0.25):\n" << explain(y);
  const u64 before = rt.stats().launches;
  y.realize();
  const u64 after = rt.stats().launches;
  product.realize();
  std::cout << "   launches: " << after - before
            << "; of softsign(matmul(a, a)) + 0.25: " << rt.stats().launches - after << '\n';
  check(after - before == 2 && rt.stats().launches - after == 1, "the number of launches");

  // Training takes both gradients: weights from nothing to those that made `target`, each step one program.
  const Tensor target = softsign({banded()({a, weights})});
  Tensor learned = Tensor::zeros(rt, {96, 32});
  double first = 0, last = 0;
  Jit step(
      [&](const std::vector<Tensor>&) {
        const Tensor error = softsign({banded()({a, learned})}) - target, loss = sum(error * error) / (64 * 64);
        learned = learned - 4 * grad(loss, {learned})[0];
        return std::vector{loss};
      },
      {&learned});
  for (int i = 0; i < 12; ++i) (i == 0 ? first : last) = step({})[0].to_host()[0];
  std::cout << "5. weights are found again: the loss falls from " << first << " to " << last << '\n';
  check(last < first / 100, "the loss");
}

int main() try {
  Runtime rt;
  own_kernel(rt);
  own_values(rt);
  std::cout << "all of it was checked\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
