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

TEST_P(Jits, RowsOfTensorsThatOnlyTheFunctionKnowsAreAssignedToo) {
  Jit f([](const std::vector<Tensor>& in) {
    Tensor made = in[0] * 2;
    made.assign_rows(in[1], in[0].slice(0, 0, 1));
    return std::vector{sum(made, 1)};
  });
  for (const i32 row : {0, 2})
    EXPECT_EQ(f({of(1, {3, 32}), indices({row})})[0].to_host(),
              (std::vector<float>{row == 0 ? 32.f : 64.f, 64, row == 2 ? 32.f : 64.f}));
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

TEST_P(Jits, AReplayIsOneSubmissionWithoutWorkForEachLaunch) {
  const std::vector<Tensor> in{of(1, {32, 32}), of(0x1p-5f, {32, 32})};
  realize(in);
  const auto accesses = [&](u64 kernels) {
    int calls = 0;
    Jit chain([&](const std::vector<Tensor>& x) {
      ++calls;
      Tensor out = x[0];
      for (u64 n = 0; n < kernels; ++n) out = matmul(out, x[1]) * double(n + 1);
      return std::vector{out};
    });
    chain(in);
    const RuntimeStats before = runtime().stats();
    chain(in);
    const RuntimeStats after = runtime().stats();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(after.runs - before.runs, 1u);
    EXPECT_EQ(after.launches - before.launches, kernels);
    EXPECT_EQ(after.kernels_loaded, before.kernels_loaded);
    EXPECT_EQ(after.bytes_written + after.bytes_read, before.bytes_written + before.bytes_read);
    return after.host_accesses - before.host_accesses;
  };
  EXPECT_LE(accesses(1), 10u);
  EXPECT_LE(accesses(10), 40u);  // records, doorbell, and looks at whether they are done: the longer apart, the later
  EXPECT_LE(accesses(20), accesses(10) + 10);
}

TEST_P(Jits, StateLiesWhereItLayUnlessItsOldValueIsStillNeeded) {
  using States = std::vector<Tensor>;
  using Update = void (*)(States&);
  struct Case {
    const char* name;
    Update update;
    bool in_place;
  };
  const Case cases[] = {
      {"element by element",
       [](States& s) {
         s[1] = s[1] * 0.5 + s[0];
         s[0] = s[0] - s[1] * 0.25;
       },
       true},
      {"after a product", [](States& s) { s[0] = s[0] - matmul(s[1], s[1]) * 0.125; }, true},
      {"exchanged",
       [](States& s) {
         const Tensor first = s[0];
         s[0] = s[1] * 0.5;
         s[1] = first * 0.5;
       },
       false},
      {"handed on",
       [](States& s) {
         const Tensor first = s[0];
         s[0] = s[1];
         s[1] = s[1] * 0.5 + first;
       },
       false},
      {"of the other rows", [](States& s) { s[0] = s[0] * 0.5 + s[0].transpose() * 0.25; }, false},
      {"of whole rows", [](States& s) { s[0] = s[0] * rsqrt(sum(s[0] * s[0], 1, true) + 1); }, false},
      {"a product of itself", [](States& s) { s[0] = s[0] - matmul(s[0], s[1]) * 0.125; }, false},
      {"read afterwards",
       [](States& s) {
         const Tensor before = s[0];
         s[0] = s[0] * 0.5;
         s[1] = matmul(s[0], before) * 0.125;
       },
       false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    States plain, traced;
    for (u32 n = 0; n < 2; ++n) {
      plain.push_back(upload(random_array({65, 65}, n)));
      traced.push_back(upload(random_array({65, 65}, n)));
    }
    Jit jit(
        [&](const States&) {
          c.update(traced);
          return States{};
        },
        {&traced[0], &traced[1]});
    const u64 address = traced[0].expr()->storage.address();
    for (int call = 0; call < 3; ++call) {
      jit({});
      c.update(plain);
      realize(plain);
      for (size_t n = 0; n < 2; ++n) EXPECT_EQ(traced[n].to_host(), plain[n].to_host()) << "call " << call;
    }
    if (c.in_place) {
      EXPECT_EQ(traced[0].expr()->storage.address(), address);
    }
    const Tensor kept = traced[0];
    const std::vector<float> before = kept.to_host();
    jit({});
    EXPECT_EQ(kept.to_host(), before) << "another handle keeps the old value";
  }
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
