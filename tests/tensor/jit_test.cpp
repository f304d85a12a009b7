// Traced once, replayed with other inputs.
#include "baretile/jit.h"

#include "baretile/autograd.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Jits : public OnDevice {
 protected:
  static Tensor of(float value, Shape shape = {3}) {
    return Tensor::from_host(runtime(), std::vector<float>(size_t(compiler::element_count(shape)), value), shape);
  }
};
ON_EACH_DEVICE(Jits);

TEST_P(Jits, TheFunctionRunsOnceAndItsProgramEveryTime) {
  int calls = 0;
  const Tensor weight = of(2);
  Jit f([&](const std::vector<Tensor>& in) {
    ++calls;
    return std::vector{in[0] * weight + in[1], in[0] - in[1]};
  });
  for (const float x : {1.f, 5.f, -3.f}) {
    const std::vector<Tensor> out = f({of(x), of(10)});
    EXPECT_EQ(out[0].to_host(), std::vector<float>(3, 2 * x + 10));
    EXPECT_EQ(out[1].to_host(), std::vector<float>(3, x - 10));
  }
  EXPECT_EQ(calls, 1);
}

TEST_P(Jits, OtherShapesAndDtypesAreTracedAnew) {
  Jit twice([](const std::vector<Tensor>& in) { return std::vector{in[0] + in[0]}; });
  EXPECT_EQ(twice({of(1)})[0].to_host(), std::vector<float>(3, 2));
  EXPECT_EQ(twice({of(1, {2, 2})})[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(twice({of(1).cast(bf16)})[0].dtype(), bf16);
  EXPECT_EQ(twice({of(4)})[0].to_host(), std::vector<float>(3, 8));
  EXPECT_EQ(twice.traces(), 3u);
}

TEST_P(Jits, ResultsOfEarlierCallsStay) {
  Jit next([](const std::vector<Tensor>& in) { return std::vector{in[0] + 1}; });
  const Tensor one = next({of(0)})[0], two = next({one})[0];
  EXPECT_EQ(one.to_host(), std::vector<float>(3, 1));
  EXPECT_EQ(two.to_host(), std::vector<float>(3, 2));
}

TEST_P(Jits, StateComesOutOfOneCallAndGoesIntoTheNext) {
  Tensor total = of(0), untouched = of(7);
  Jit add(
      [&](const std::vector<Tensor>& in) {
        total = total + in[0] * untouched;
        return std::vector{total * 2};
      },
      {&total, &untouched});
  for (int n = 1; n <= 3; ++n) {
    EXPECT_EQ(add({of(1)})[0].to_host(), std::vector<float>(3, 14.f * n));
    EXPECT_EQ(total.to_host(), std::vector<float>(3, 7.f * n));
  }
  total = of(100);  // from outside too
  EXPECT_EQ(add({of(1)})[0].to_host(), std::vector<float>(3, 214));
  EXPECT_EQ(add.traces(), 1u);
}

TEST_P(Jits, RowsAreAssignedWhereTheStateLies) {
  Tensor cache = Tensor::zeros(runtime(), {4, 32});
  Jit write(
      [&](const std::vector<Tensor>& in) {
        cache.assign_rows(in[0], in[1]);
        return std::vector{sum(cache)};
      },
      {&cache});
  const u64 address = cache.expr()->storage.address();
  for (i32 row = 0; row < 4; ++row)
    EXPECT_EQ(write({indices({row}), of(1, {1, 32})})[0].to_host(), std::vector<float>(1, 32.f * (row + 1)));
  EXPECT_EQ(cache.expr()->storage.address(), address);
}

TEST_P(Jits, TrainsAsWithoutIt) {
  const Array x = random_array({33, 5}, 1), y = random_array({33, 1}, 2);
  const auto train = [&](bool traced) {
    Tensor w = Tensor::zeros(runtime(), {5, 1});
    const Tensor a = upload(x), b = upload(y);
    const auto step = [&](const std::vector<Tensor>& in) {
      const Tensor error = matmul(in[0], w) - in[1], loss = mean(mean(error * error, 0), 0);
      w = w - grad(loss, {w})[0] * 0.1;
      return std::vector{loss};
    };
    Jit jit(step, {&w});
    std::vector<float> losses;
    for (int n = 0; n < 4; ++n) {
      if (traced) {
        losses.push_back(jit({a, b})[0].to_host()[0]);
      } else {
        Tensor loss = step({a, b})[0];
        realize({loss, w});
        losses.push_back(loss.to_host()[0]);
      }
    }
    return losses;
  };
  EXPECT_EQ(train(true), train(false));
}

TEST_P(Jits, MistakesAreNamed) {
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  Tensor cache = Tensor::zeros(runtime(), {4, 32});
  Jit hidden([&](const std::vector<Tensor>& in) {
    cache.assign_rows(in[0], in[1]);
    return std::vector{sum(cache)};
  });
  EXPECT_THAT(message([&] { hidden({indices({0}), of(1, {1, 32})}); }), testing::HasSubstr("not among its state"));
  Jit reads([](const std::vector<Tensor>& in) {
    (in[0] + 1).to_host();
    return in;
  });
  EXPECT_THAT(message([&] { reads({of(1)}); }), testing::HasSubstr("has no value"));
  Tensor kept = of(3);
  Jit throws(
      [&](const std::vector<Tensor>& in) {
        kept = kept + 1;
        return std::vector{in[0].reshape({5})};
      },
      {&kept});
  EXPECT_THAT(message([&] { throws({of(1)}); }), testing::HasSubstr("reshape"));
  EXPECT_EQ(kept.to_host(), std::vector<float>(3, 3)) << "the state is what it was";
}

}  // namespace
}  // namespace baretile::tensor_test
