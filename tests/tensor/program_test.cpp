// What becomes of expressions: how many launches, what is compiled and when, and what stays in memory.
#include "compiler/build/build.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Programs : public OnDevice {
 protected:
  static u64 launches_of(const std::vector<Tensor>& tensors) {
    return launches([&] { realize(tensors); });
  }
};
ON_EACH_DEVICE(Programs);

TEST_P(Programs, EpiloguesAndNormalisationsAreOneLaunchEach) {
  Tensor x = upload(eighths({40, 70}, 1)), w = upload(eighths({70, 96}, 2), bf16),
         v = upload(eighths({70, 96}, 3), bf16);
  Tensor bias = upload(eighths({96}, 4)), weight = upload(eighths({70}, 5)), h = upload(eighths({40, 70}, 6), bf16);
  EXPECT_EQ(launches_of({relu(matmul(h, w))}), 1u);
  EXPECT_EQ(launches_of({relu(matmul(h, w) + bias)}), 1u);
  EXPECT_EQ(launches_of({silu(matmul(h, w)) * matmul(h, v)}), 1u);
  EXPECT_EQ(launches_of({softmax(x)}), 1u);
  EXPECT_EQ(launches_of({softmax(x, 0)}), 1u);
  EXPECT_EQ(launches_of({rms_norm(x, weight)}), 1u);
  EXPECT_EQ(
      launches_of({rope(upload(eighths({3, 40, 64}, 7)), upload(eighths({40, 64}, 8)), upload(eighths({40, 64}, 9)))}),
      1u);
}

TEST_P(Programs, RandomElementwiseChainsAreOneLaunchEachAndRight) {
  const std::vector<Shape> shapes{{33, 45}, {1, 100}, {3, 33, 64}, {2, 3, 5, 37}, {65}};
  for (u32 seed = 0; seed < shapes.size(); ++seed) {
    std::mt19937 random(seed);
    const Shape& shape = shapes[seed];
    Shape row(shape.size(), 1), col = shape;
    row.back() = shape.back();
    col.back() = 1;
    std::vector<std::pair<Tensor, Array>> leaves;
    for (const Shape& s : {shape, row, col}) {
      const Array a = random_array(s, u32(leaves.size()) + 1, -1, 1);
      leaves.emplace_back(upload(a), a);
    }
    auto [x, want] = leaves[0];
    for (int n = 0; n < 9; ++n) {
      const auto& [y, other] = leaves[random() % leaves.size()];
      const Array &now = want, &with = other;
      const auto each = [&](auto f) {
        return generate(shape, [&](const Shape& i) { return f(now.at(i), with.at(i)); });
      };
      switch (random() % 5) {
        case 0:
          x = x + y, want = each([](double a, double b) { return a + b; });
          break;
        case 1:
          x = x * y, want = each([](double a, double b) { return a * b; });
          break;
        case 2:
          x = maximum(x, exp(y)), want = each([](double a, double b) { return std::max(a, std::exp(b)); });
          break;
        case 3:
          x = exp(-relu(x)), want = each([](double a, double) { return std::exp(-std::max(a, 0.0)); });
          break;
        default:
          x = y - x * 0.5f, want = each([](double a, double b) { return b - a * 0.5; });
      }
    }
    EXPECT_EQ(launches_of({x}), 1u) << "seed " << seed;
    expect(fmt::format("seed {}", seed), x, want, {0, 40 * 0x1p-23 * std::max(1.0, largest(want))});
  }
}

TEST_P(Programs, ASecondRunOfTheSameShapesCompilesNothing) {
  const auto step = [](u32 seed) {
    const Array x = eighths({5, 70}, seed), w = eighths({70, 33}, seed + 1);
    Tensor y = relu(matmul(upload(x), upload(w))) * 0.5f;
    expect("y", y, map(product(x, w, {5, 33}), [](double v) { return std::max(v, 0.0) * 0.5; }));
  };
  step(1);
  const compiler::BuildStats before = compiler::build_stats();
  const u64 loaded = runtime().stats().kernels_loaded;
  step(2);
  EXPECT_EQ(compiler::build_stats().compiled, before.compiled);
  EXPECT_EQ(compiler::build_stats().cached, before.cached) << "the program itself is kept, the cache is not asked";
  EXPECT_EQ(runtime().stats().kernels_loaded, loaded) << "and its kernels are still on the tiles";
}

TEST_P(Programs, ARealizedTensorIsNotComputedAgainAndDropsItsInputs) {
  Tensor x = upload(eighths({33, 40}, 1)), y = exp(x), z = y + 1;
  std::weak_ptr<Expr> input = x.expr();
  y.realize();
  x = Tensor();
  EXPECT_TRUE(input.expired());
  EXPECT_EQ(launches([&] { y.to_host(), y.realize(); }), 0u);
  EXPECT_EQ(launches_of({z}), 1u);
}

TEST_P(Programs, MemoryComesBack) {
  const u64 before = runtime().free_bytes();
  {
    Tensor x = upload(eighths({64, 64}, 1));
    Tensor y = (matmul(x, x) * 0.01f).realize();
    EXPECT_EQ(before - runtime().free_bytes() >= 2 * 4 * 4096, true);
  }
  EXPECT_EQ(runtime().free_bytes(), before);
}

TEST_P(Programs, OutputsMayBeInputsViewsConstantsAndTheSameTwice) {
  const Array x = eighths({33, 40}, 1);
  Tensor a = upload(x), same = a + 0, again = a + 0, view = a.reshape({40, 33}), shown = same.reshape({10, 132});
  Tensor number = Tensor(3).expand({5, 6}) + a.slice(0, 0, 5).slice(1, 0, 6) * 0;
  realize({a, same, again, view, shown, number, same});
  expect("a", a, x);
  expect("same", same, x);
  expect("again", again, x);
  expect("view", view, Array{{40, 33}, x.values});
  expect("shown", shown, Array{{10, 132}, x.values});
  expect("number", number, Array{{5, 6}, std::vector<double>(30, 3)});
}

TEST_P(Programs, ManyLaunchesOfOneProgramFollowEachOther) {
  const Array w = generate({33, 33}, [](const Shape& i) { return i[0] == (i[1] + 1) % 33 ? 1.0 : 0.0; });  // a rotation
  const Array x = eighths({5, 33}, 1);
  Tensor turn = upload(w), y = upload(x);
  for (int n = 0; n < 40; ++n) y = matmul(y, turn);
  EXPECT_GE(launches([&] { y.realize(); }), 40u);
  expect("y", y, generate(x.shape, [&](const Shape& i) { return x.at({i[0], (i[1] + 40) % 33}); }));
}

TEST_P(Programs, AnExpressionOfTwoDevicesAtOnceWorksOnEach) {
  Runtime other(GetParam());
  const Array x = eighths({5, 33}, 1);
  Tensor here = upload(x) * 2, there = Tensor::from_host(other, x.floats(), x.shape) * 2;
  EXPECT_EQ(here.to_host(), there.to_host());
  EXPECT_THROW(here + there, UsageError);
}

}  // namespace
}  // namespace baretile::tensor_test
