#include "baretile/error.h"
#include "compiler/graph/shape.h"
#include "compiler/support.h"
#include "support/message.h"

namespace baretile::compiler::test {
namespace {

Graph graph_of(std::vector<Tensor> tensors) { return capture(tensors).graph; }

TEST(Graph, TheHashKnowsStructureShapesAndTypesButNotIdentities) {
  auto build = [](i64 rows, DType dtype, bool swapped) {
    Tensor x = input({rows, 8}, dtype), y = input({rows, 8}, dtype);
    return graph_of({swapped ? y - x : x - y, x + 1});
  };
  EXPECT_EQ(hash(build(4, DType::fp32, false)), hash(build(4, DType::fp32, false)));
  EXPECT_EQ(build(4, DType::fp32, false), build(4, DType::fp32, false));
  EXPECT_NE(hash(build(4, DType::fp32, false)), hash(build(5, DType::fp32, false)));
  EXPECT_NE(hash(build(4, DType::fp32, false)), hash(build(4, DType::bf16, false)));
  EXPECT_NE(hash(build(4, DType::fp32, false)), hash(build(4, DType::fp32, true)));
  Tensor x = input({4, 8});
  EXPECT_NE(hash(graph_of({x + x})), hash(graph_of({input({4, 8}) + input({4, 8})})));
}

TEST(Graph, SimplifyKeepsOneOfEqualNodesAndEveryWrite) {
  Tensor x = input({4, 8}), index = input({1}, DType::int32);
  EXPECT_EQ(simplify(graph_of({exp(x) + exp(x)})).nodes.size(), 3u);
  Tensor a = input({4, 8}), row = input({1, 8});
  Tensor b = a;
  a.assign_rows(index, row);
  b.assign_rows(index, row);
  EXPECT_EQ(simplify(graph_of({a, b})).nodes.size(), graph_of({a, b}).nodes.size());
}

TEST(Shape, ErrorsNameTheOperationAndBothShapes) {
  using ::testing::AllOf, ::testing::HasSubstr;
  EXPECT_THAT(message_of<UsageError>([] {
                return input({3, 4}) + input({3, 5});
              }),
              AllOf(HasSubstr("add"), HasSubstr("[3, 4]"), HasSubstr("[3, 5]")));
  EXPECT_THAT(message_of<UsageError>([] {
                return matmul(input({3, 4}), input({5, 6}));
              }),
              AllOf(HasSubstr("matmul"), HasSubstr("[3, 4]"), HasSubstr("[5, 6]")));
  EXPECT_THAT(message_of<UsageError>([] {
                return matmul(input({}), input({4, 6}));
              }),
              AllOf(HasSubstr("no axis"), HasSubstr("[]")));
  EXPECT_THAT(message_of<UsageError>([] {
                return input({3, 4}).reshape({5, -1});
              }),
              AllOf(HasSubstr("reshape"), HasSubstr("12 elements")));
  EXPECT_THAT(message_of<UsageError>([] { return input({3, 4}).permute({0, 0}); }), HasSubstr("[0, 0]"));
  EXPECT_THAT(message_of<UsageError>([] { return input({3, 4}).slice(1, 2, 9); }), HasSubstr("[2, 9)"));
  EXPECT_THAT(message_of<UsageError>([] {
                return input({3, 4}).expand({3, 8});
              }),
              AllOf(HasSubstr("expand"), HasSubstr("[3, 8]")));
  EXPECT_THAT(message_of<UsageError>([] { return sum(input({3, 4}), 2); }), HasSubstr("no axis 2"));
  EXPECT_THAT(message_of<UsageError>([] {
                return concat({input({3, 4}), input({2, 5})}, 0);
              }),
              AllOf(HasSubstr("concat"), HasSubstr("[2, 5]")));
  EXPECT_THAT(message_of<UsageError>([] { return gather_rows(input({3, 4}), input({2})); }), HasSubstr("int32"));
  EXPECT_THAT(message_of<UsageError>([] {
                Tensor t = input({3, 4});
                t.assign_rows(input({2}, DType::int32), input({3, 4}));
              }),
              HasSubstr("[2, 4]"));
  EXPECT_THAT(message_of<UsageError>([] { return Tensor() + input({3}); }), HasSubstr("empty"));
  EXPECT_THAT(message_of<UsageError>([] { return input({3, -1}); }), HasSubstr("[3, -1]"));
}

TEST(Shape, Broadcasting) {
  EXPECT_EQ(broadcast_shape("add", {3, 1, 5}, {4, 1}), (compiler::Shape{3, 4, 5}));
  EXPECT_EQ(matmul(input({2, 1, 3, 4}), input({5, 4, 6})).shape(), (compiler::Shape{2, 5, 3, 6}));
  EXPECT_EQ(sum(input({2, 3, 4}), 0).shape(), (compiler::Shape{3, 4}));
  EXPECT_EQ((input({4}, DType::bf16) * input({4})).dtype(), DType::fp32);
  EXPECT_EQ((input({4}, DType::bf16) * 2).dtype(), DType::bf16);
}

}  // namespace
}  // namespace baretile::compiler::test
