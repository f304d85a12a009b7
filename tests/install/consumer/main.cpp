#include <baretile/baretile.h>

#include <iostream>

int main() {
  baretile::Runtime rt;
  auto x = baretile::Tensor::of(rt, {{1, -2}, {3, 4}});
  auto w = baretile::Tensor::of(rt, {{2, 0}, {0, 3}});
  std::cout << relu(matmul(x, w)) << '\n';
}
