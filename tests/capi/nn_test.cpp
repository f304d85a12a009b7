// Layers' weights, optimisers and trainers from C. The function is sum((x w)^2), whose gradient is 2 x^2 w.
#include <cmath>

#include "capi/support.h"

namespace baretile::capi_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Handle made(const char* op, std::vector<const bt_tensor*> operands) {
  bt_tensor* result = nullptr;
  EXPECT_EQ(bt_apply(bt_op_by_name(op), operands.data(), operands.size(), nullptr, 0, &result), BT_OK) << bt_message();
  return Handle(result);
}

Handle loss_of(const bt_tensor* x, const bt_tensor* w) {
  const Handle product = made("mul", {x, w}), square = made("mul", {product.get(), product.get()});
  return made("sum", {square.get()});
}

bt_status give_loss(void* weight, bt_jit* jit, const bt_tensor* const* inputs, size_t count) {
  EXPECT_EQ(count, 1u);
  return bt_jit_result(jit, loss_of(inputs[0], static_cast<bt_tensor*>(weight)).get());
}

class CapiNn : public Capi {
 protected:
  static Optimiser optimiser(const char* rule, std::vector<const char*> options, std::vector<double> values) {
    bt_optimiser* result = nullptr;
    EXPECT_EQ(bt_optimiser_new(rule, options.data(), values.data(), options.size(), &result), BT_OK) << bt_message();
    return Optimiser(result);
  }
  static Jit trainer(bt_function loss, bt_tensor* weight, bt_optimiser* optimiser, double clip = 0) {
    bt_jit* result = nullptr;
    EXPECT_EQ(bt_trainer_new(loss, weight, &weight, 1, optimiser, clip, &result), BT_OK) << bt_message();
    return Jit(result);
  }
  static bt_status call(const Jit& jit, const Handle& x, float* loss) {
    const bt_tensor* batch[] = {x.get()};
    bt_tensor* result = nullptr;
    size_t results = 0;
    if (const bt_status status = bt_jit_call(jit.get(), batch, 1, &result, 1, &results)) return status;
    EXPECT_EQ(results, 1u);
    *loss = floats(Handle(result)).at(0);
    return BT_OK;
  }
  static bt_status step(const Optimiser& optimiser, const Handle& w, const bt_tensor* gradient, size_t gradients = 1) {
    bt_tensor* parameter = w.get();
    return bt_optimiser_step(optimiser.get(), &parameter, 1, &gradient, gradients, nullptr, 0);
  }
};

// By name; what has been given away is freed.
using Named = std::map<std::string, Handle>;
void keep(void* all, const char* name, bt_tensor* x) { (*static_cast<Named*>(all))[name].reset(x); }

TEST_F(CapiNn, AnOptimiserGoesOnFromItsState) {
  const Handle w = tensor({4, 2}, {2}), again = tensor({4, 2}, {2}), g = tensor({1, 0.5}, {2});
  const Optimiser first = optimiser("Adam", {"rate"}, {0.5}), second = optimiser("Adam", {"rate"}, {0.5});
  Named state;
  ASSERT_EQ(bt_optimiser_state(first.get(), keep, &state), BT_OK) << bt_message();
  EXPECT_TRUE(state.empty());
  ASSERT_EQ(step(first, w, g.get()), BT_OK) << bt_message();
  ASSERT_EQ(bt_optimiser_state(first.get(), keep, &state), BT_OK) << bt_message();
  ASSERT_EQ(state.size(), 3u);
  ASSERT_EQ(bt_set(again.get(), w.get()), BT_OK);
  std::vector<const char*> names;
  std::vector<const bt_tensor*> tensors;
  for (const auto& [name, x] : state) names.push_back(name.c_str()), tensors.push_back(x.get());
  bt_tensor* parameter = again.get();
  ASSERT_EQ(bt_optimiser_restore(second.get(), &parameter, 1, names.data(), tensors.data(), 3), BT_OK) << bt_message();
  ASSERT_EQ(step(first, w, g.get()), BT_OK);
  ASSERT_EQ(step(second, again, g.get()), BT_OK);
  EXPECT_EQ(floats(again), floats(w));

  const auto refused = [&](const char* const* names, const bt_tensor* const* tensors, size_t count) {
    EXPECT_EQ(bt_optimiser_restore(second.get(), &parameter, 1, names, tensors, count), BT_USAGE_ERROR);
    return std::string(bt_message());
  };
  EXPECT_THAT(refused(names.data(), tensors.data(), 2), HasSubstr("set_state: 'steps' is missing"));
  EXPECT_THAT(refused(nullptr, tensors.data(), 3), HasSubstr("names is NULL"));
  names[1] = names[0];
  EXPECT_THAT(refused(names.data(), tensors.data(), 3), HasSubstr("two tensors are called '0.0'"));
  EXPECT_EQ(bt_optimiser_state(second.get(), nullptr, nullptr), BT_USAGE_ERROR);
}

TEST_F(CapiNn, AStepComputesParametersAndLossTogether) {
  const Handle w = tensor({4, 2}, {2}), x = tensor({1, 0.5}, {2});
  const Optimiser sgd = optimiser("SGD", {"rate", "momentum"}, {0.5, 0.5});
  bt_tensor* parameter = w.get();
  // Velocities: [8, 1], then half of it and the gradient of [0, 1.5].
  for (const auto& [loss, next] : {std::pair{17.f, std::vector{0.f, 1.5f}}, {0.5625f, {-2.f, 0.875f}}}) {
    const Handle value = loss_of(x.get(), w.get());
    bt_tensor* slope = nullptr;
    ASSERT_EQ(bt_grad(value.get(), &parameter, 1, &slope), BT_OK) << bt_message();
    const Handle gradient(slope);
    const bt_tensor* also = value.get();
    ASSERT_EQ(bt_optimiser_step(sgd.get(), &parameter, 1, &slope, 1, &also, 1), BT_OK) << bt_message();
    EXPECT_EQ(floats(value), std::vector{loss});
    EXPECT_EQ(floats(w), next);
  }
}

TEST_F(CapiNn, ATrainerStepsAndKeepsItsOptimiser) {
  const Handle w = tensor({4, 2}, {2}), x = tensor({1, 0.5}, {2});
  Optimiser sgd = optimiser("SGD", {"rate"}, {0.5});
  const Jit train = trainer(give_loss, w.get(), sgd.get());
  const bt_tensor* batch[] = {x.get()};
  bt_tensor* nowhere = nullptr;
  EXPECT_EQ(bt_jit_call(train.get(), batch, 1, &nowhere, 1, nullptr), BT_USAGE_ERROR);
  EXPECT_EQ(floats(w), (std::vector{4.f, 2.f})) << "a refused call made a step";
  float loss = 0;
  ASSERT_EQ(call(train, x, &loss), BT_OK) << bt_message();
  EXPECT_EQ(loss, 17);
  EXPECT_THAT(floats(w), ElementsAre(0, 1.5));
  ASSERT_EQ(bt_optimiser_set(sgd.get(), "rate", 1), BT_OK) << bt_message();
  sgd.reset();
  ASSERT_EQ(call(train, x, &loss), BT_OK) << bt_message();
  EXPECT_EQ(loss, 0.5625);
  EXPECT_THAT(floats(w), ElementsAre(0, 0.75));
}

TEST_F(CapiNn, AnOptimiserKeepsTheDeviceOfItsStateOpen) {
  bt_runtime* rt = nullptr;
  ASSERT_EQ(bt_open("sim", &rt), BT_OK) << bt_message();
  const float values[] = {4, 2};
  const int64_t shape[] = {2};
  bt_tensor* made = nullptr;
  ASSERT_EQ(bt_from_host(rt, values, BT_FP32, shape, 1, BT_FP32, &made), BT_OK) << bt_message();
  Handle w(made);
  const Optimiser adam = optimiser("Adam", {"rate"}, {1});
  ASSERT_EQ(step(adam, w, w.get()), BT_OK) << bt_message();
  bt_close(rt);
  EXPECT_NEAR(floats(w)[0], 3, 1e-6) << "the first step of Adam is the rate";
  w.reset();
}

TEST_F(CapiNn, GradientsAreClippedInPlaceAndInTraining) {
  const Handle g = tensor({3}, {1}), h = tensor({-4}, {1, 1});
  bt_tensor* both[] = {g.get(), h.get()};
  bt_tensor* length = nullptr;
  ASSERT_EQ(bt_clip_grad_norm(both, 2, 10, &length), BT_OK) << bt_message();
  EXPECT_THAT(floats(Handle(length)), ElementsAre(5));
  EXPECT_THAT(floats(g), ElementsAre(3));
  ASSERT_EQ(bt_clip_grad_norm(both, 2, 2.5, &length), BT_OK) << bt_message();
  EXPECT_THAT(floats(Handle(length)), ElementsAre(5));
  EXPECT_NEAR(floats(g)[0], 1.5, 1e-6);
  EXPECT_NEAR(floats(h)[0], -2, 1e-6);

  const Handle w = tensor({4, 2}, {2}), x = tensor({1, 0.5}, {2});
  const Optimiser sgd = optimiser("SGD", {"rate"}, {1});
  float loss = 0;
  ASSERT_EQ(call(trainer(give_loss, w.get(), sgd.get(), 1), x, &loss), BT_OK) << bt_message();
  EXPECT_NEAR(floats(w)[0], 4 - 8 / std::sqrt(65.), 1e-5);
  EXPECT_NEAR(floats(w)[1], 2 - 1 / std::sqrt(65.), 1e-5);
}

TEST_F(CapiNn, WeightsOfNewLayersFollowTheirSeed) {
  const int64_t widths[] = {2, 3, 1};
  std::vector<std::vector<float>> drawn[2];
  for (auto& values : drawn) {
    bt_tensor* made[4];
    ASSERT_EQ(bt_mlp(runtime.get(), widths, 3, 7, BT_FP32, made), BT_OK) << bt_message();
    EXPECT_THAT(std::vector(bt_shape(made[0]), bt_shape(made[0]) + 2), ElementsAre(3, 2));
    EXPECT_THAT(std::vector(bt_shape(made[2]), bt_shape(made[2]) + 2), ElementsAre(1, 3));
    for (bt_tensor* x : made) values.push_back(floats(Handle(x)));
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_THAT(drawn[0][1], testing::Each(testing::AllOf(testing::Ge(-0.70711f), testing::Le(0.70711f))));
  EXPECT_EQ(drawn[0][1].size(), 3u);
  EXPECT_EQ(drawn[0][3].size(), 1u);
}

TEST_F(CapiNn, WrongArgumentsOfLayersAndOptimisersAreUsageErrors) {
  const auto mlp = [&](std::vector<int64_t> widths, uint64_t seed, bt_dtype dtype) {
    bt_tensor* made[4] = {};
    EXPECT_EQ(bt_mlp(runtime.get(), widths.data(), widths.size(), seed, dtype, made), BT_USAGE_ERROR);
    return std::string(bt_message());
  };
  EXPECT_THAT(mlp({2}, 1, BT_FP32), HasSubstr("1 widths"));
  EXPECT_THAT(mlp({2, -3}, 1, BT_FP32), HasSubstr("width 1 is -3; give at least 1"));
  EXPECT_THAT(mlp({1 << 20, 1 << 20}, 1, BT_FP32), HasSubstr("more than 2^32 - 1 elements"));
  EXPECT_THAT(mlp({2, 2}, uint64_t{1} << 32, BT_FP32), HasSubstr("seed 4294967296 is beyond"));
  EXPECT_THAT(mlp({2, 2}, 1, BT_INT32), HasSubstr("weights of dtype int32"));

  const auto refused = [&](const char* rule, const char* option) {
    bt_optimiser* made = nullptr;
    const double value = 1;
    EXPECT_EQ(bt_optimiser_new(rule, &option, &value, 1, &made), BT_USAGE_ERROR);
    EXPECT_EQ(made, nullptr);
    return std::string(bt_message());
  };
  EXPECT_THAT(refused("RMSprop", "rate"), HasSubstr("'RMSprop' is no optimiser; there are SGD, Adam and AdamW"));
  EXPECT_THAT(refused("SGD", "beta1"), HasSubstr("SGD has no option 'beta1'; there are rate, momentum, weight_decay"));
  EXPECT_THAT(refused(nullptr, "rate"), HasSubstr("is NULL"));
  EXPECT_THAT(refused("Adam", nullptr), HasSubstr("an option's name is NULL"));

  const Optimiser adam = optimiser("Adam", {"weight_decay"}, {0.1}), decoupled = optimiser("AdamW", {}, {});
  EXPECT_EQ(bt_optimiser_set(adam.get(), "weight_decay", 0), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("'weight_decay' does not change"));
  EXPECT_EQ(bt_optimiser_set(decoupled.get(), "weight_decay", 0), BT_OK);
  EXPECT_EQ(bt_optimiser_set(nullptr, "rate", 0), BT_USAGE_ERROR);

  const Handle w = tensor({4, 2}, {2}), other = tensor({1, 2, 3}, {3});
  EXPECT_EQ(step(adam, w, w.get(), 0), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("1 parameters and 0 gradients"));
  EXPECT_EQ(step(adam, w, nullptr), BT_USAGE_ERROR);
  EXPECT_EQ(step(adam, w, other.get()), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("gradient 0 is [3], and its parameter [2]"));
  ASSERT_EQ(step(adam, w, w.get()), BT_OK) << bt_message();
  EXPECT_EQ(step(adam, other, other.get()), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("other parameters than in the steps before"));
}

TEST_F(CapiNn, TrainersRefuseWhatIsNoLoss) {
  const Handle w = tensor({4, 2}, {2}), x = tensor({1, 0.5}, {2});
  const Optimiser sgd = optimiser("SGD", {}, {});
  float loss = 0;
  const bt_function none = [](void*, bt_jit*, const bt_tensor* const*, size_t) { return bt_status{BT_OK}; };
  EXPECT_EQ(call(trainer(none, w.get(), sgd.get()), x, &loss), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("the loss is 0 results; it must be one"));
  const bt_function vector = [](void*, bt_jit* jit, const bt_tensor* const* in, size_t) {
    return bt_jit_result(jit, in[0]);
  };
  EXPECT_EQ(call(trainer(vector, w.get(), sgd.get()), x, &loss), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("the loss is fp32 [2]"));
  EXPECT_THAT(floats(w), ElementsAre(4, 2));

  bt_jit* made = nullptr;
  EXPECT_EQ(bt_trainer_new(give_loss, nullptr, nullptr, 0, sgd.get(), 0, &made), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("0 parameters"));
  bt_tensor* parameter = w.get();
  EXPECT_EQ(bt_trainer_new(nullptr, nullptr, &parameter, 1, sgd.get(), 0, &made), BT_USAGE_ERROR);
  EXPECT_EQ(bt_trainer_new(give_loss, nullptr, &parameter, 1, nullptr, 0, &made), BT_USAGE_ERROR);
  EXPECT_EQ(made, nullptr);
}

TEST_F(CapiNn, ThePrecisionOfProductsIsTheThreads) {
  const Handle x = tensor(std::vector<float>(64, 1 + 0x1p-12f), {2, 32}), ones = tensor(std::vector(64, 1.f), {32, 2});
  const auto product = [&] { return floats(made("matmul", {x.get(), ones.get()}))[3]; };
  int before = -1;
  ASSERT_EQ(bt_set_precision(BT_FULL, &before), BT_OK) << bt_message();
  EXPECT_EQ(before, BT_STANDARD);
  EXPECT_NEAR(product(), 32 + 0x1p-7f, 1e-4);
  EXPECT_EQ(bt_set_precision(3, nullptr), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("3 is no precision"));
  ASSERT_EQ(bt_set_precision(BT_STANDARD, &before), BT_OK);
  EXPECT_EQ(before, BT_FULL);
  EXPECT_EQ(product(), 32) << "of 11 bits";
}

}  // namespace
}  // namespace baretile::capi_test
