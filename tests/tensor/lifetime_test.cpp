// Tensors whose Runtime was destroyed: each use is a typed error, and their end is nothing. Those of a Runtime that was
// moved follow it.
#include <functional>
#include <optional>
#include <sstream>

#include "baretile/autograd.h"
#include "baretile/jit.h"
#include "baretile/nn.h"
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Lifetime : public OnDevice {
 protected:
  static void expect_gone(const std::string& name, const std::function<void()>& use,
                          const std::string& tensor = "[2, 3] bf16") {
    try {
      use();
      ADD_FAILURE() << name << ": nothing was thrown";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(),
                "tensor " + tensor + " belongs to a Runtime that was destroyed; keep it alive as long as its tensors.")
          << name;
    }
  }
  static Tensor counted(Runtime& on) {
    return Tensor::from_host(on, std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}, bf16);
  }
};
ON_EACH_DEVICE(Lifetime);

TEST_P(Lifetime, OfARuntimeThatTensorsOutlive) {
  std::optional<Runtime> first(GetParam());
  Tensor x = counted(*first), lazy = x * 2, constant = Tensor::full(*first, {2, 3}, 1, bf16), state = counted(*first);
  Tensor none = Tensor::zeros(*first, {0, 3}, bf16);
  const Tensor place = Tensor::from_host(*first, std::vector<i32>{1}, {1});
  const Tensor row = Tensor::from_host(*first, std::vector<float>{7, 8, 9}, {1, 3}, bf16);
  Jit replayed([&](const std::vector<Tensor>& in) { return std::vector{in[0] + 1}; });
  Jit captured([&](const std::vector<Tensor>& in) { return std::vector{in[0] + x}; });
  Jit stateful([&](const std::vector<Tensor>& in) { return std::vector{state = state + in[0]}; }, {&state});
  nn::SGD sgd({.rate = 0.5f});
  Tensor weight = counted(*first);
  nn::Trainer trainer([&](const std::vector<Tensor>& in) { return sum(weight.cast(fp32) * in[0]); }, {&weight}, sgd);
  replayed({x}), captured({x}), stateful({x});
  trainer({row});
  first.reset();

  expect_gone("to_host", [&] { x.to_host(); });
  expect_gone("print", [&] { std::ostringstream() << x; });
  expect_gone("realize what is stored", [&] { x.realize(); });
  expect_gone("realize", [&] { lazy.realize(); });
  expect_gone("constant", [&] { constant.to_host(); });
  expect_gone(
      "empty", [&] { none.to_host(); }, "[0, 3] bf16");
  expect_gone("expression", [&] { exp(x); });
  expect_gone("cast", [&] { x.cast(fp32); });
  expect_gone("assign", [&] { x.assign(0, 0, row); });
  expect_gone("assign_rows", [&] { x.assign_rows(place, row); });
  expect_gone("gradient", [&] { grad(lazy, {x}, lazy); });
  expect_gone("replay", [&] { replayed({x}); });
  expect_gone("state", [&] { stateful({x}); });
  expect_gone("trainer", [&] { trainer({row}); });
  expect_gone("runtime", [&] { x.runtime(); });

  Runtime second(GetParam());
  const Tensor y = counted(second);
  expect_gone("constant of a trace", [&] { captured({y}); });
  expect_gone("beside a tensor of another Runtime", [&] { y + x; });
  EXPECT_THAT(replayed({y})[0].to_host(), testing::ElementsAre(2, 3, 4, 5, 6, 7))
      << "a trace without constants lives on";
  x = lazy = state = y;  // gives back the buffers of the first
  EXPECT_THAT(x.to_host(), testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_P(Lifetime, OfARuntimeThatIsMoved) {
  std::optional<Runtime> first(GetParam());
  const Tensor x = counted(*first), lazy = x + 1;
  std::optional<Runtime> moved(std::move(*first));
  first.reset();
  EXPECT_EQ(x.runtime(), &*moved);
  EXPECT_THAT(Tensor(lazy).to_host(), testing::ElementsAre(2, 3, 4, 5, 6, 7));
  moved.reset();
  expect_gone("after its end", [&] { x.to_host(); });
}

TEST_P(Lifetime, OfATraceWhoseTensorsLieOnTwoDevices) {
  Runtime other(GetParam());
  Jit add([](const std::vector<Tensor>& in) { return std::vector{in[0] + in[1]}; });
  const Tensor here = counted(runtime()), there = counted(other);
  EXPECT_THAT(add({here, here})[0].to_host(), testing::ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(add({there, there})[0].to_host(), testing::ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THROW(add({here, there}), UsageError);
}

}  // namespace
}  // namespace baretile::tensor_test
