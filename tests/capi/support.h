// A device through the C interface, and handles that free themselves.
#pragma once
#include <gmock/gmock.h>

#include "baretile/capi.h"
#include "pci/simulators.h"

namespace baretile::capi_test {

struct Freed {
  void operator()(bt_tensor* x) const { bt_free(x); }
  void operator()(bt_runtime* rt) const { bt_close(rt); }
  void operator()(bt_jit* jit) const { bt_jit_free(jit); }
  void operator()(bt_optimiser* optimiser) const { bt_optimiser_free(optimiser); }
};
using Handle = std::unique_ptr<bt_tensor, Freed>;
using Jit = std::unique_ptr<bt_jit, Freed>;
using Optimiser = std::unique_ptr<bt_optimiser, Freed>;

class Capi : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_SIMULATOR("sim");
    if (bt_runtime* rt = nullptr; !runtime) {
      ASSERT_EQ(bt_open("sim", &rt), BT_OK) << bt_message();
      runtime.reset(rt);
    }
  }
  static void TearDownTestSuite() { runtime.reset(); }

  static Handle tensor(std::vector<float> values, std::vector<int64_t> shape, bt_dtype dtype = BT_FP32) {
    bt_tensor* x = nullptr;
    EXPECT_EQ(bt_from_host(runtime.get(), values.data(), BT_FP32, shape.data(), shape.size(), dtype, &x), BT_OK)
        << bt_message();
    return Handle(x);
  }
  static bt_status apply(const char* op, std::vector<const bt_tensor*> tensors, std::vector<double> numbers,
                         Handle& to) {
    bt_tensor* result = nullptr;
    const bt_status status =
        bt_apply(bt_op_by_name(op), tensors.data(), tensors.size(), numbers.data(), numbers.size(), &result);
    to.reset(result);
    return status;
  }
  static std::vector<float> floats(const Handle& x) {
    size_t count = 1;
    for (size_t i = 0; i < bt_rank(x.get()); ++i) count *= size_t(bt_shape(x.get())[i]);
    std::vector<float> values(count);
    EXPECT_EQ(bt_to_host(x.get(), values.data(), count * 4), BT_OK) << bt_message();
    return values;
  }

  static inline std::unique_ptr<bt_runtime, Freed> runtime;
};

}  // namespace baretile::capi_test
