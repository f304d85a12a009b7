// From graph to Program.
#include "compiler/compiler.h"

#include "compiler/support.h"

namespace baretile::compiler::test {
namespace {

// Seven values and seven more made of them, all needed to the end: more than registers and Dst hold.
Tensor crowded(const Shape& shape) {
  std::vector<Tensor> x, powers;
  for (size_t n = 0; n < 7; ++n) x.push_back(input(shape));
  for (size_t n = 0; n < 7; ++n) powers.push_back(pow(x[n], x[(n + 1) % 7]));
  Tensor out = powers[0];
  for (size_t n = 0; n < 7; ++n) out = out * x[(n + 3) % 7] + powers[(n + 4) % 7] * powers[(n + 2) % 7];
  return out;
}

Tensor sum_of_seven(const Shape& shape) {
  Tensor out = input(shape);
  for (int n = 1; n < 7; ++n) out = out + input(shape);
  return out;
}

TEST(Compile, AKernelThatDstCannotHoldIsCutAndNoOther) {
  setenv("BARETILE_CACHE_DIR", BARETILE_BINARY_DIR "/test-cache", 1);
  const auto launches = [](std::vector<Tensor> tensors) {
    return compile(capture(tensors).graph).program.launches.size();
  };
  const size_t cut = launches({crowded({40, 64})});
  EXPECT_GT(cut, 1u);
  EXPECT_EQ(launches({sum_of_seven({70, 33})}), 1u);
  EXPECT_EQ(launches({crowded({40, 64}), sum_of_seven({70, 33})}), cut + 1);
}

}  // namespace
}  // namespace baretile::compiler::test
