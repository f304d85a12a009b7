// Where an attention kernel finds its operands' pages, run by the evaluator against the reference.
#include "baretile/error.h"
#include "baretile/nn.h"
#include "compiler/emit/emit.h"
#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

using nn::scaled_dot_product_attention;

// Queries, keys and values of `heads` heads of `d` columns, side by side in the rows of one matrix.
std::vector<Tensor> parts(const Tensor& x, i64 heads, i64 d) {
  const i64 batch = x.size(0), rows = x.size(1);
  const Tensor all = x.reshape({batch, rows, 3, heads, d}).permute({2, 0, 3, 1, 4});
  std::vector<Tensor> out;
  for (i64 n = 0; n < 3; ++n) out.push_back(all.slice(0, n, n + 1).reshape({batch, heads, rows, d}));
  return out;
}

TEST(AttentionKernel, ReadsHeadsInWholePagesWhereTheyLie) {
  const auto heads = parts(input({2, 40, 3 * 3 * 32}), 3, 32);
  Result r = checked({scaled_dot_product_attention(heads[0], heads[1], heads[2], {.causal = true})});
  EXPECT_EQ(r.schedule.launches.size(), 1u) << to_string(r.schedule);
  const auto narrow = parts(input({2, 40, 3 * 2 * 16}), 2, 16);  // half a page each
  r = checked({scaled_dot_product_attention(narrow[0], narrow[1], narrow[2])});
  EXPECT_EQ(r.schedule.launches.size(), 4u) << to_string(r.schedule);
  EXPECT_EQ(r.copies(), 3u) << to_string(r.schedule);
}

TEST(AttentionKernel, RepeatsSharedHeadsAndMasksWithoutCopies) {
  const Tensor q = input({2, 6, 40, 48}), k = input({2, 2, 70, 48}), v = input({2, 2, 70, 33});
  for (const Shape& shape : {Shape{40, 70}, Shape{70}, Shape{2, 1, 40, 70}, Shape{6, 40, 70}, Shape{2, 1, 1, 70}}) {
    for (const DType dtype : {DType::fp32, DType::boolean}) {
      Result r = checked({scaled_dot_product_attention(q, k, v, Tensor::placeholder(shape, dtype))});
      EXPECT_EQ(r.schedule.launches.size(), 1u) << to_string(r.schedule);
    }
  }
  Result r = checked({scaled_dot_product_attention(q, k, v, input({40, 1}))});
  EXPECT_EQ(r.copies(), 1u) << to_string(r.schedule);
  r = checked({scaled_dot_product_attention(input({2, 4, 1, 64}), input({2, 2, 70, 64}), input({2, 2, 70, 64}))});
  EXPECT_EQ(r.schedule.launches.size(), 1u) << to_string(r.schedule);
}

TEST(AttentionKernel, TakesComputedOperandsFromMemoryAndGivesItsResultToOthers) {
  const Tensor x = input({64, 96}), w = input({96, 96});
  const Tensor y = scaled_dot_product_attention(matmul(x, w), relu(x), x * 2);
  Result r = checked({relu(matmul(y, w)) + y}, 1e-4);
  EXPECT_EQ(r.copies(), 0u) << to_string(r.schedule);
  EXPECT_THAT(to_string(r.schedule), ::testing::HasSubstr("attention ["));
}

TEST(AttentionKernel, SlicesThatEndWithinAPageAreCopiedLestOthersValuesCount) {
  const Tensor x = input({2, 64, 64});
  const auto cut = [&](i64 rows, i64 cols) { return x.slice(1, 0, rows).slice(2, 0, cols); };
  Result r = checked({scaled_dot_product_attention(cut(64, 32), cut(40, 32), cut(40, 32))});
  EXPECT_EQ(r.copies(), 1u) << "keys beyond the last are masked, values would be taken in: " << to_string(r.schedule);
  r = checked({scaled_dot_product_attention(cut(64, 40), cut(64, 40), cut(64, 64))});
  EXPECT_EQ(r.copies(), 1u) << "queries and keys are one copy: " << to_string(r.schedule);
}

TEST(AttentionKernel, HoldsOnlySoManyColumnsOfValues) {
  Result r = scheduled({scaled_dot_product_attention(input({4, 32}), input({4, 32}), input({4, 160}))});
  EXPECT_EQ(r.schedule.launches.size(), 1u);
  KernelSpec spec = r.schedule.kernels[0];
  EXPECT_THAT(emit(spec).text, ::testing::HasSubstr("kWidth = 5"));
  spec.attention.width_tiles = 6;
  EXPECT_THROW(emit(spec), Unsupported);
  r = checked({scaled_dot_product_attention(input({4, 32}), input({4, 32}), input({4, 161}))});
  EXPECT_GT(r.schedule.launches.size(), 1u);
}

}  // namespace
}  // namespace baretile::compiler::test
