// Random graphs: whatever fusion decides, the schedule must compute what the graph means. --gtest_random_seed=N takes
// another 300.
#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

class Generator {
 public:
  explicit Generator(u32 seed) : random_(seed) {}

  std::vector<Tensor> graph(int size) {
    for (int n = 0; n < 3; ++n) pool_.push_back(input(shape()));
    while (int(pool_.size()) < size) pool_.push_back(next());
    std::vector<Tensor> wanted = {pool_.back()};
    for (int n = 0; n < 2; ++n) wanted.push_back(any());
    return wanted;
  }

 private:
  u32 below(u32 n) { return random_() % n; }
  i64 extent() {
    static constexpr i64 kExtents[] = {1, 1, 2, 3, 5, 32, 33, 64, 40};
    return kExtents[below(9)];
  }
  Shape shape() {
    Shape out;
    for (u32 rank = 1 + below(3); rank > 0; --rank) out.push_back(extent());
    return out;
  }
  Tensor any() { return pool_[below(u32(pool_.size()))]; }
  Tensor recent() { return pool_[pool_.size() - 1 - below(std::min<u32>(4, u32(pool_.size())))]; }
  // Keeps values where exp and sums stay finite and differences do not cancel.
  static Tensor tame(const Tensor& x) { return reciprocal(exp(-x) + 1); }

  // A second operand that broadcasts against x.
  Tensor partner(const Tensor& x) {
    Shape s = x.shape();
    for (i64& e : s) {
      if (below(4) == 0) e = 1;
    }
    for (const Tensor& t : pool_) {
      if (t.shape() == s && below(2) == 0) return t;
    }
    return input(s);
  }

  Tensor view(const Tensor& x) {
    const i64 axis = i64(below(u32(x.rank()))), extent = x.size(axis);
    switch (below(6)) {
      case 0:
        return x.flip(axis);
      case 1: {
        i64 first = i64(below(u32(extent))), end = first + 1 + i64(below(u32(extent - first)));
        return x.slice(axis, first, end);
      }
      case 2: {
        std::vector<i64> order;
        for (i64 i = 0; i < i64(x.rank()); ++i) order.push_back(i);
        std::shuffle(order.begin(), order.end(), random_);
        return x.permute(order);
      }
      case 3:
        return x.reshape({element_count(x.shape())});
      case 4: {
        Shape split = x.shape();
        i64 by = extent % 32 == 0 ? 32 : extent % 2 == 0 ? 2 : 1;
        split[size_t(axis)] = by;
        split.insert(split.begin() + axis, extent / by);
        return split.size() > 4 ? x : x.reshape(split);
      }
      default: {
        Shape merged = x.shape();
        if (merged.size() < 2) return x;
        merged[1] *= merged[0];
        merged.erase(merged.begin());
        return x.reshape(merged);
      }
    }
  }

  Tensor next() {
    Tensor x = recent();
    if (element_count(x.shape()) > 20000) return tame(any());
    switch (below(12)) {
      case 0:
        return x + partner(x);
      case 1:
        return x * partner(x);
      case 2:
        return maximum(x, tame(partner(x)));
      case 3:
        return relu(x);
      case 4:
        return tame(x);
      case 5:
        return x - x.flip(i64(below(u32(x.rank()))));
      case 6:
      case 7:
      case 8:
        return view(x);
      case 9:
        return mean(x, i64(below(u32(x.rank()))), true);
      case 10:
        return softmax(tame(x), i64(below(u32(x.rank()))));
      default: {
        if (x.rank() < 2) return tame(x.reshape({-1, 1}) * 0.5f);
        Shape w = {x.size(-1), extent()};
        return tame(matmul(x, below(2) ? input(w) : input(w, DType::bf16)) * 0.1f);
      }
    }
  }

  std::mt19937 random_;
  std::vector<Tensor> pool_;
};

TEST(Random, GraphsComputeWhatTheyMean) {
  const u32 first = u32(GTEST_FLAG_GET(random_seed)) * 300;
  for (u32 seed = first; seed < first + 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    checked(Generator(seed).graph(14), 1e-3, 32, seed);
  }
}

}  // namespace
}  // namespace baretile::compiler::test
