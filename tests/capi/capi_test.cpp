#include "baretile/capi.h"

#include <cstring>
#include <set>

#include "capi/support.h"

namespace baretile::capi_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Capi, OperationsByNameTakeNumbersWithDefaults) {
  const Handle x = tensor({1, 5, -3, 2}, {2, 2});
  Handle y;
  ASSERT_EQ(apply("clamp", {x.get()}, {0, 3}, y), BT_OK) << bt_message();
  EXPECT_THAT(floats(y), ElementsAre(1, 3, 0, 2));
  ASSERT_EQ(apply("slice", {x.get()}, {1, 1, 2}, y), BT_OK);
  EXPECT_THAT(floats(y), ElementsAre(5, 2));
  ASSERT_EQ(apply("sum", {x.get()}, {}, y), BT_OK);
  EXPECT_THAT(floats(y), ElementsAre(5));
  EXPECT_EQ(bt_rank(y.get()), 0u);
  ASSERT_EQ(apply("sum", {x.get()}, {1, 0}, y), BT_OK);
  EXPECT_THAT(floats(y), ElementsAre(-2, 7));
  EXPECT_EQ(bt_rank(y.get()), 2u);
  ASSERT_EQ(apply("mean", {x.get()}, {0, 1}, y), BT_OK);
  EXPECT_THAT(floats(y), ElementsAre(3, -0.5));
  ASSERT_EQ(apply("reshape", {x.get()}, {4, -1}, y), BT_OK);
  EXPECT_EQ(bt_shape(y.get())[1], 1);
}

TEST_F(Capi, NumbersTakeTheDtypeOfWhatTheyMeet) {
  bt_tensor *number = nullptr, *counts = nullptr;
  ASSERT_EQ(bt_number(2, &number), BT_OK);
  ASSERT_EQ(bt_arange(runtime.get(), 0, 3, 1, BT_INT32, &counts), BT_OK);
  const Handle two(number), x(counts);
  Handle y;
  ASSERT_EQ(apply("mul", {two.get(), x.get()}, {}, y), BT_OK) << bt_message();
  EXPECT_EQ(bt_dtype_of(y.get()), BT_INT32);
  int32_t values[3];
  ASSERT_EQ(bt_to_host(y.get(), values, sizeof values), BT_OK);
  EXPECT_THAT(values, ElementsAre(0, 2, 4));
}

TEST_F(Capi, WrongArgumentsAreUsageErrorsThatLeaveTheResultAlone) {
  const Handle x = tensor({1, 2}, {2});
  bt_tensor* const untouched = reinterpret_cast<bt_tensor*>(0x1234);
  const auto refused = [&](const char* op, std::vector<const bt_tensor*> tensors, std::vector<double> numbers) {
    bt_tensor* result = untouched;
    EXPECT_EQ(bt_apply(bt_op_by_name(op), tensors.data(), tensors.size(), numbers.data(), numbers.size(), &result),
              BT_USAGE_ERROR);
    EXPECT_EQ(result, untouched);
    return std::string(bt_message());
  };
  EXPECT_THAT(refused("clamp", {x.get()}, {1}), HasSubstr("clamp: 1 numbers are too few; it is clamp(x; low, high)"));
  EXPECT_THAT(refused("exp", {x.get()}, {1}), HasSubstr("exp: 1 numbers"));
  EXPECT_THAT(refused("add", {x.get()}, {}), HasSubstr("add: 1 tensors; it is add(x, y)"));
  EXPECT_THAT(refused("add", {x.get(), nullptr}, {}), HasSubstr("tensor 1 is NULL"));
  EXPECT_THAT(refused("softmax", {x.get()}, {0.5}), HasSubstr("softmax: 0.5 stands where a whole number belongs"));
  EXPECT_THAT(refused("cast", {x.get()}, {7}), HasSubstr("7 is no dtype"));
  EXPECT_THAT(refused("no_such_op", {x.get()}, {}), HasSubstr("no operation"));
  EXPECT_THAT(refused("squeeze", {x.get()}, {0}), HasSubstr("squeeze: axis 0 of [2] is not 1"));
  EXPECT_STREQ(bt_status_name(BT_USAGE_ERROR), "UsageError");
}

TEST_F(Capi, NullPointersAndWrongSizesAreRefused) {
  const Handle x = tensor({1, 2}, {2});
  float value;
  EXPECT_EQ(bt_to_host(x.get(), &value, 4), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("4 bytes for the values of fp32 [2], which are 8 bytes"));
  EXPECT_EQ(bt_to_host(nullptr, &value, 4), BT_USAGE_ERROR);
  EXPECT_EQ(bt_to_host(x.get(), nullptr, 8), BT_USAGE_ERROR);
  EXPECT_EQ(bt_open("sim", nullptr), BT_USAGE_ERROR);
  EXPECT_EQ(bt_full(runtime.get(), nullptr, 1, 0, BT_FP32, nullptr), BT_USAGE_ERROR);
  EXPECT_EQ(bt_op_by_name(nullptr), nullptr);
  const int64_t shape[] = {2};
  bt_tensor* y = nullptr;
  EXPECT_EQ(bt_from_host(runtime.get(), &value, BT_FP32, shape, 1, BT_INT32, &y), BT_USAGE_ERROR);
  EXPECT_EQ(bt_from_host(runtime.get(), &value, BT_FP32, shape, 1, bt_dtype(99), &y), BT_USAGE_ERROR);
  EXPECT_EQ(bt_open("no-such-device", nullptr), BT_USAGE_ERROR);
  bt_runtime* none = nullptr;
  EXPECT_EQ(bt_open("kmd:77", &none), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("'kmd:77' is not here"));
}

TEST_F(Capi, ValuesOfEveryDtypeGoInAndComeBack) {
  const int64_t shape[] = {2, 1};
  const auto there_and_back = [&](const auto(&values)[2], bt_dtype dtype) {
    bt_tensor* made = nullptr;
    EXPECT_EQ(bt_from_host(runtime.get(), values, dtype, shape, 2, dtype, &made), BT_OK) << bt_message();
    const Handle x(made);
    std::decay_t<decltype(values[0])> back[2];
    EXPECT_EQ(bt_to_host(x.get(), back, sizeof back), BT_OK) << bt_message();
    return std::vector(back, back + 2);
  };
  EXPECT_THAT(there_and_back({1.5f, -2.f}, BT_FP32), ElementsAre(1.5, -2));
  EXPECT_THAT(there_and_back({-7, 1 << 30}, BT_INT32), ElementsAre(-7, 1 << 30));
  EXPECT_THAT(there_and_back({7u, 0xFFFFFFFFu}, BT_UINT32), ElementsAre(7u, 0xFFFFFFFFu));
  EXPECT_THAT(there_and_back({uint8_t{0}, uint8_t{200}}, BT_BOOLEAN), ElementsAre(0, 1));
  const uint16_t bits[] = {0x3F80, 0xC040};  // 1 and -3
  bt_tensor* made = nullptr;
  ASSERT_EQ(bt_from_host(runtime.get(), bits, BT_BF16, shape, 2, BT_BF16, &made), BT_OK) << bt_message();
  EXPECT_THAT(floats(Handle(made)), ElementsAre(1, -3));
}

TEST_F(Capi, TensorsKeepTheirDeviceOpen) {
  bt_runtime* rt = nullptr;
  ASSERT_EQ(bt_open("sim", &rt), BT_OK);
  EXPECT_EQ(bt_workers(rt), 119u);
  EXPECT_STREQ(bt_device(rt), "sim");
  bt_tensor* ones = nullptr;
  const int64_t shape[] = {2};
  ASSERT_EQ(bt_full(rt, shape, 1, 1, BT_FP32, &ones), BT_OK);
  bt_close(rt);
  const Handle x(ones);
  Handle y;
  ASSERT_EQ(apply("add", {x.get(), x.get()}, {}, y), BT_OK) << bt_message();
  EXPECT_THAT(floats(y), ElementsAre(2, 2));
  const Handle other = tensor({1, 2}, {2});
  EXPECT_EQ(apply("add", {x.get(), other.get()}, {}, y), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("two devices"));
}

TEST_F(Capi, GradientsPairsAndWritesInPlace) {
  const Handle x = tensor({3, 1, 2}, {3});
  Handle square, loss;
  ASSERT_EQ(apply("mul", {x.get(), x.get()}, {}, square), BT_OK);
  ASSERT_EQ(apply("sum", {square.get()}, {}, loss), BT_OK);
  const bt_tensor* wrt[] = {x.get()};
  bt_tensor* slope = nullptr;
  ASSERT_EQ(bt_grad(loss.get(), wrt, 1, &slope), BT_OK) << bt_message();
  EXPECT_THAT(floats(Handle(slope)), ElementsAre(6, 2, 4));

  bt_tensor *values = nullptr, *indices = nullptr;
  ASSERT_EQ(bt_topk(x.get(), 2, &values, &indices), BT_OK) << bt_message();
  EXPECT_THAT(floats(Handle(values)), ElementsAre(3, 2));
  int32_t where[2];
  EXPECT_EQ(bt_to_host(indices, where, sizeof where), BT_OK);
  bt_free(indices);
  EXPECT_THAT(where, ElementsAre(0, 2));

  const Handle nines = tensor({9, 9}, {2});
  ASSERT_EQ(bt_assign(x.get(), 0, 1, nines.get()), BT_OK) << bt_message();
  EXPECT_THAT(floats(x), ElementsAre(3, 9, 9));
  EXPECT_EQ(bt_assign(x.get(), 0, 2, nines.get()), BT_USAGE_ERROR);

  const bt_tensor* pair[] = {nines.get(), nines.get()};
  bt_tensor* dot = nullptr;
  ASSERT_EQ(bt_einsum("i,i->", pair, 2, &dot), BT_OK) << bt_message();
  EXPECT_THAT(floats(Handle(dot)), ElementsAre(162));
  const char* text = nullptr;
  ASSERT_EQ(bt_text(nines.get(), &text), BT_OK);
  EXPECT_STREQ(text, "[9, 9]");
}

TEST_F(Capi, RandomNumbersComeByDistribution) {
  bt_tensor *key = nullptr, *drawn = nullptr;
  ASSERT_EQ(bt_random_key(runtime.get(), 42, &key), BT_OK);
  const Handle owner(key);
  const int64_t shape[] = {50};
  ASSERT_EQ(bt_random("randint", key, shape, 1, -2, 3, &drawn), BT_OK) << bt_message();
  int32_t values[50];
  ASSERT_EQ(bt_to_host(drawn, values, sizeof values), BT_OK);
  bt_free(drawn);
  EXPECT_EQ(std::set<int32_t>(values, values + 50), (std::set<int32_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(bt_random("cauchy", key, shape, 1, 0, 0, &drawn), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("'cauchy' is no distribution"));
}

// One step of w -= 0.5 * gradient of sum((x w)^2), and the loss before it.
bt_status train(void* weight, bt_jit* jit, const bt_tensor* const* inputs, size_t count) {
  EXPECT_EQ(count, 1u);
  const auto apply = [](const char* op, const bt_tensor* x, const bt_tensor* y) {
    const bt_tensor* operands[] = {x, y};
    bt_tensor* made = nullptr;
    EXPECT_EQ(bt_apply(bt_op_by_name(op), operands, y ? 2 : 1, nullptr, 0, &made), BT_OK) << bt_message();
    return Handle(made);
  };
  const auto w = static_cast<bt_tensor*>(weight);
  const Handle product = apply("mul", inputs[0], w), square = apply("mul", product.get(), product.get()),
               loss = apply("sum", square.get(), nullptr);
  bt_tensor *slope = nullptr, *half = nullptr;
  if (const bt_status status = bt_grad(loss.get(), &w, 1, &slope)) return status;
  bt_number(0.5, &half);
  const Handle slope_(slope), half_(half), step = apply("mul", half, slope), next = apply("sub", w, step.get());
  EXPECT_EQ(bt_set(w, next.get()), BT_OK);
  return bt_jit_result(jit, loss.get());
}

TEST_F(Capi, AFunctionIsTracedAndReplayedWithItsState) {
  const Handle w = tensor({4, 2}, {2}), x = tensor({1, 0.5}, {2});
  bt_tensor* state = w.get();
  const bt_tensor* inputs[] = {x.get()};
  bt_jit* jit = nullptr;
  ASSERT_EQ(bt_jit_new(train, state, &state, 1, &jit), BT_OK) << bt_message();
  // The gradient is 2 x^2 w, so a step makes w (1 - x^2) times as large: 4 2, 0 1.5, 0 1.125.
  for (const float expected : {17.f, 0.5625f}) {
    bt_tensor* loss = nullptr;
    size_t made = 0;
    ASSERT_EQ(bt_jit_call(jit, inputs, 1, &loss, 1, &made), BT_OK) << bt_message();
    EXPECT_EQ(made, 1u);
    EXPECT_THAT(floats(Handle(loss)), ElementsAre(expected));
  }
  EXPECT_THAT(floats(w), ElementsAre(0, 1.125));
  size_t made = 0;
  EXPECT_EQ(bt_jit_call(jit, inputs, 1, nullptr, 0, &made), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("1 results, and room for 0"));
  bt_jit_free(jit);

  const bt_function refuses = [](void*, bt_jit*, const bt_tensor* const* in, size_t) {
    bt_tensor* none = nullptr;
    return bt_apply(bt_op_by_name("transpose"), in, 1, nullptr, 0, &none);
  };
  ASSERT_EQ(bt_jit_new(refuses, nullptr, nullptr, 0, &jit), BT_OK);
  EXPECT_EQ(bt_jit_call(jit, inputs, 1, nullptr, 0, &made), BT_USAGE_ERROR);
  EXPECT_THAT(bt_message(), HasSubstr("transpose: [2] has fewer than two axes"));
  bt_jit_free(jit);
}

TEST(CapiTable, ListsEveryOperationOnceWithASignatureAndAWord) {
  std::set<std::string> names;
  size_t count = 0;
  for (; const bt_op* op = bt_op_at(count); ++count) {
    const std::string signature = bt_op_signature(op), name = signature.substr(0, signature.find('('));
    EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    EXPECT_EQ(bt_op_by_name(name.c_str()), op);
    EXPECT_EQ(signature.back(), ')');
    EXPECT_GT(std::strlen(bt_op_doc(op)), 0u);
  }
#define UNARY(name, ...) EXPECT_TRUE(names.count(#name));
#define BINARY(name, ...) EXPECT_TRUE(names.count(#name));
#define TERNARY(name, ...) EXPECT_TRUE(names.count(#name));
#define REDUCE(name, ...) EXPECT_TRUE(names.count(#name));
#define VIEW(name, ...) EXPECT_TRUE(names.count(#name) || std::string(#name) == "stride");  // slice has steps
#include "baretile/ops.def"
  EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace baretile::capi_test
