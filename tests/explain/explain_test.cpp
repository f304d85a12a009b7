#include "baretile/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baretile/error.h"

namespace baretile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Tensor input(Shape shape) { return Tensor::placeholder(std::move(shape)); }

TEST(Explain, NamesEachKernelAndWhyItsResultLeaves) {
  const Tensor x = input({64, 64}), one = relu(matmul(x, x)), two = matmul(one, x);
  EXPECT_THAT(explain(one), AllOf(HasSubstr("kernel matmul_relu_1x64x64\n"), HasSubstr("it is a result"),
                                  HasSubstr("2 operations became 1 kernel\n")));
  EXPECT_THAT(explain(two), AllOf(HasSubstr("products take their operands from memory"),
                                  HasSubstr("3 operations became 2 kernels\n")));
}

TEST(Explain, CountsWhatSeveralTensorsShareOnce) {
  const Tensor x = input({64, 64}), sum = x + 1, both[] = {sum, relu(sum)};
  EXPECT_THAT(explain(both), HasSubstr("2 operations became 1 kernel\n"));
}

TEST(Explain, LeavesOutWhatHasAValueAndRefusesEmptyTensors) {
  EXPECT_EQ(explain(input({4})), "0 operations became 0 kernels\n");
  EXPECT_THROW(explain(Tensor()), UsageError);
}

}  // namespace
}  // namespace baretile
