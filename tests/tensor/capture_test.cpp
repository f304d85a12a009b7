#include <algorithm>

#include "tensor/expr.h"

namespace baretile {
namespace {

using compiler::Op;

Tensor input(Shape shape, DType dtype = DType::fp32) { return Tensor::placeholder(std::move(shape), dtype); }

bool survives(const Capture& captured) {
  const auto& nodes = captured.graph.nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& n) { return n.op == Op::assign_rows && n.attrs[0] == 1; });
}

TEST(Capture, EachExpressionIsOneNodeHoweverOftenItIsUsed) {
  Tensor x = input({4}), y = exp(x);
  Capture captured = capture(std::vector<Tensor>{y + y, y});
  EXPECT_EQ(captured.graph.nodes.size(), 3u);
  EXPECT_EQ(captured.externals.size(), 1u);
  EXPECT_EQ(captured.graph.outputs.size(), 2u);
}

TEST(Capture, AWriteIsAnOutputEvenWhenOnlyItsReadersAreWanted) {
  Tensor cache = input({4, 8}), index = input({1}, DType::int32);
  cache.assign_rows(index, input({1, 8}));
  Capture captured = capture(std::vector<Tensor>{cache * 2});
  ASSERT_EQ(captured.graph.outputs.size(), 2u);
  EXPECT_EQ(captured.outputs[1], cache.expr());
  EXPECT_FALSE(survives(captured));
}

TEST(Capture, AnOldValueThatSomebodyHoldsIsKept) {
  Tensor cache = input({4, 8}), index = input({1}, DType::int32), row = input({1, 8});
  Tensor old = cache;
  cache.assign_rows(index, row);
  EXPECT_TRUE(survives(capture(std::vector<Tensor>{cache})));

  Tensor second = input({4, 8});
  Tensor reader = second + 1;  // not realized together with the write
  second.assign_rows(index, row);
  EXPECT_TRUE(survives(capture(std::vector<Tensor>{second})));

  Tensor third = input({4, 8});
  Tensor view = third.reshape({2, 16});
  view.assign_rows(index, input({1, 16}));
  EXPECT_TRUE(survives(capture(std::vector<Tensor>{view})));
}

TEST(Capture, AReaderOfTheOldValueInTheSameGraphIsComputedWithIt) {
  Tensor cache = input({4, 8}), index = input({1}, DType::int32);
  Tensor reader = cache + 1, wanted = reader * 2;
  cache.assign_rows(index, input({1, 8}));
  Capture captured = capture(std::vector<Tensor>{wanted, cache});
  EXPECT_FALSE(survives(captured));
  EXPECT_EQ(captured.graph.outputs.size(), 3u);  // `reader` is still held, and could not be computed later
}

TEST(Capture, LongChainsNeitherCaptureNorDieByRecursion) {
  Tensor x = input({4});
  for (int n = 0; n < 200000; ++n) x = x + x;
  EXPECT_EQ(capture(std::vector<Tensor>{x}).graph.nodes.size(), 200001u);
}

}  // namespace
}  // namespace baretile
