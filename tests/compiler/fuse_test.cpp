#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

size_t kernels(const Result& r) { return r.schedule.launches.size(); }

TEST(Fuse, ReluOfMatmulIsOneKernel) {
  Result r = checked({relu(matmul(input({2, 2}), input({2, 2})))});
  EXPECT_EQ(kernels(r), 1u) << to_string(r.schedule);
}

TEST(Fuse, RandomElementwiseChainsAreOneKernelEach) {
  const std::vector<Shape> shapes = {{70, 45}, {1, 100}, {3, 33, 64}, {2, 3, 40, 37}, {32, 32}};
  for (u32 seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    const Shape& shape = shapes[seed];
    Shape row(shape.size(), 1), col = shape;
    row.back() = shape.back();
    col.back() = 1;
    std::vector<Tensor> leaves = {input(shape), input(row), input(col), input({1})};
    Tensor x = leaves[0];
    for (int n = 0; n < 9; ++n) {
      Tensor other = leaves[random() % leaves.size()];
      switch (random() % 5) {
        case 0:
          x = x + other;
          break;
        case 1:
          x = x * other;
          break;
        case 2:
          x = maximum(x, exp(other));
          break;
        case 3:
          x = exp(-relu(x));
          break;
        default:
          x = other - x * 0.5f;
      }
    }
    Result r = checked({x}, 1e-4);
    EXPECT_EQ(kernels(r), 1u) << to_string(r.graph) << to_string(r.schedule);
  }
}

TEST(Fuse, MatmulEpiloguesAreOneKernelEach) {
  Tensor x = input({40, 70}), w = input({70, 96}), v = input({70, 96}), bias = input({96});
  EXPECT_EQ(kernels(checked({relu(matmul(x, w) + bias)})), 1u);
  EXPECT_EQ(kernels(checked({input({40, 96}) - exp(matmul(x, w) * 0.01f) * input({40, 1})})), 1u);
  Result r = checked({silu(matmul(x, w) * 0.1f) * matmul(x, v)});
  EXPECT_EQ(kernels(r), 1u) << to_string(r.schedule);
}

TEST(Fuse, SoftmaxAndNormalisationAreOneKernelEach) {
  for (Shape shape : {Shape{5, 70}, Shape{1, 33}, Shape{2, 3, 37, 64}}) {
    EXPECT_EQ(kernels(checked({softmax(input(shape))})), 1u);
    Result r = checked({rms_norm(input(shape), input({shape.back()}))});
    EXPECT_EQ(kernels(r), 1u) << to_string(r.schedule);
  }
  EXPECT_EQ(kernels(checked({softmax(input({37, 40}), 0)})), 1u);
}

TEST(Fuse, ReductionsOverAnyAxisWithAndWithoutKeptAxes) {
  for (i64 axis = -3; axis < 3; ++axis) {
    checked({sum(input({5, 37, 40}), axis), max(input({5, 37, 40}) + 1, axis, true), mean(input({5, 37, 40}), axis)});
  }
  EXPECT_EQ(kernels(checked({sum(input({40, 50}), -1, true) * 2 + 1})), 1u);
}

TEST(Fuse, ReductionsAlongDifferentAxesAreDifferentKernels) {
  Tensor x = input({40, 50}), y = exp(x);
  EXPECT_EQ(kernels(checked({sum(y, 0, true), sum(y, 1, true), softmax(softmax(x, 0), 1)})), 4u);
}

TEST(Fuse, AValueWithSeveralReadersIsStoredOnceAndEqualExpressionsAreComputedOnce) {
  Tensor x = input({40, 64}), w = input({64, 64});
  Tensor y = matmul(x, w);
  Result r = checked({relu(y), exp(y * 0.01f), matmul(y, w), y});
  EXPECT_EQ(kernels(r), 2u) << to_string(r.schedule);
  Result same = checked({matmul(x, w) + matmul(x, w)});
  EXPECT_EQ(kernels(same), 1u);
  EXPECT_EQ(std::count_if(same.schedule.kernels[0].compute.steps.begin(), same.schedule.kernels[0].compute.steps.end(),
                          [](const Step& step) { return step.kind == StepKind::contraction; }),
            1);
}

TEST(Fuse, AResidualThatItsOwnKernelNeedsFirstIsLoaded) {
  Tensor x = input({33, 64}), w = input({64, 64}, DType::bf16), weight = input({64});
  Tensor y = x + matmul(x, w);
  Tensor z = y + matmul(relu(matmul(rms_norm(y, weight), w)), w);
  Result r = checked({z}, 1e-4);
  EXPECT_EQ(kernels(r), 5u) << to_string(r.schedule);  // x in split form, y, norm, relu, z
}

TEST(Fuse, RoundingHappensWhereItIsAskedFor) {
  Tensor x = input({33, 40});
  Result r = checked({(x * 1.0009765625f).cast(DType::bf16).cast(DType::fp32) * 3});
  EXPECT_EQ(kernels(r), 2u);
}

TEST(Fuse, PermutedPagesAreReadWithoutACopy) {
  for (i64 rows : {1, 37}) {
    Tensor x = matmul(input({rows, 64}), input({64, 192}));
    Tensor heads = x.reshape({rows, 3, 64}).permute({1, 0, 2});
    Result r = checked({rope(heads, input({rows, 64}), input({rows, 64}))});
    EXPECT_EQ(kernels(r), 2u) << to_string(r.schedule);
    EXPECT_EQ(r.copies(), 0u);
  }
}

TEST(Fuse, ViewsThatCutPagesAreCopied) {
  Tensor x = input({37, 70});
  checked({x.transpose() + 1, x.slice(1, 5, 40) * 2, x.slice(0, 3, 4) * x, x.slice(1, 5, 6) * x, x.slice(1, 32, 33) * x,
           x.reshape({70, 37}) + 1, x.flip(0) * 2});
  checked({x.transpose().slice(0, 1, 69).reshape({37, 68}).flip(1).reshape({4, 17, 37}) + 1});
  checked({exp(x.slice(0, 0, 36).reshape({6, 6, 70})).permute({1, 0, 2}) + 0.5f});
}

TEST(Fuse, ConcatAtOddPlaces) {
  Tensor x = input({3, 5, 37}), y = input({3, 5, 37});
  for (i64 axis = 0; axis < 3; ++axis) checked({concat({x, y * 2, x}, axis)});
  checked({concat({x.permute({0, 2, 1}), input({3, 37, 1})}, -1)});
}

TEST(Fuse, MatmulsOfAllKinds) {
  Tensor b = input({64, 40}, DType::bf16);
  checked({matmul(input({1, 64}), b), matmul(input({37, 64}), b), matmul(input({37, 64}, DType::bf16), b)}, 1e-2);
  checked({matmul(input({2, 3, 5, 33}), input({2, 1, 33, 45}))});
  checked({matmul(input({2, 3, 5, 33}), input({2, 1, 45, 33}).transpose())});
  checked({matmul(input({33, 1}), input({1, 45})), matmul(input({1, 33}), input({33, 1}))});
  checked({matmul(input({5, 33}), input({1, 33}).transpose())});
  checked({matmul(input({40, 33}).transpose(), input({40, 33}))});
  checked({matmul(input({40, 70}).slice(1, 0, 33), input({33, 64}).slice(1, 32, 64))});
  checked({matmul(input({40, 70}).slice(0, 3, 4), input({70, 64}))});
  checked({matmul(input({5, 33}, DType::bf16), input({33, 7}))});
}

TEST(Fuse, TransposedOperandsAreTurnedOnTheWayUnlessTheyLieInOneRowOrInBlocksOrAreSplit) {
  const auto copies = [](const Tensor& x, const Tensor& y) { return checked({matmul(x, y)}, 1e-2).copies(); };
  const Tensor y = input({40, 33});
  EXPECT_EQ(copies(input({40, 70}).transpose(), y), 0u);
  EXPECT_EQ(copies(input({40, 70}).transpose(), input({50, 40}).transpose()), 0u);
  EXPECT_EQ(copies(input({3, 40, 70}).transpose(), input({3, 40, 33})), 0u);
  EXPECT_EQ(copies(input({64, 70}).slice(0, 32, 64).transpose(), input({32, 33})), 0u);
  EXPECT_EQ(copies(input({64, 70}).slice(0, 0, 40).transpose(), y), 1u) << "rows that are not zero follow";
  EXPECT_EQ(copies(input({40, 70}).slice(1, 0, 40).transpose(), y), 0u);
  EXPECT_EQ(copies(input({40, 1}).transpose(), y), 1u);
  EXPECT_EQ(copies(input({40, 70}, DType::bfp8).transpose(), input({40, 33}, DType::bf16)), 2u) << "one to bf16";
  EXPECT_EQ(copies(input({40, 70}).transpose(), input({40, 33}, DType::bf16)), 2u) << "one to split it";
}

TEST(Fuse, RowsAreGatheredAndAssignedInPlace) {
  Tensor table = input({32, 40}, DType::bf16), index = input({5}, DType::int32);
  checked({gather_rows(table, index).cast(DType::fp32) * 2});
  Tensor cache = input({3, 32, 40});
  Tensor before = cache + 1;
  cache.assign_rows(index, input({5, 3 * 40}).reshape({5, 3, 40}).permute({1, 0, 2}));
  Result r = checked({cache, before, cache * 2});
  EXPECT_EQ(r.copies(), 0u) << to_string(r.schedule);
  EXPECT_EQ(output_slots(r.plan)[0], 0u);
}

TEST(Fuse, AnOldVersionThatIsNeededLaterIsCopied) {
  Tensor cache = input({3, 32, 40}), index = input({5}, DType::int32);
  Tensor old = cache.reshape({96, 40});
  Tensor values = input({3, 5, 40});
  cache.assign_rows(index, values);
  checked({sum(cache, 0, true) + old.reshape({3, 32, 40}), cache});
  checked({old + 1, cache});
  Tensor twice = cache;
  twice.assign_rows(index, values * 2);
  checked({twice, cache});
}

TEST(Fuse, ConstantsViewsAndInputsCanBeOutputs) {
  Tensor x = input({37, 40});
  checked({Tensor(3).expand({5, 6}), x.transpose(), x.reshape({40, 37}), x, x + 0, (x + 0).reshape({2, 20, 37})});
}

}  // namespace
}  // namespace baretile::compiler::test
