// Lesson 1: tensors. An expression is only written down; printing it compiles one program for the chip's tiles and runs it.
#include <baretile/baretile.h>

#include <iostream>

using namespace baretile;

int main() try {
  Runtime rt;  // the device that --device, BARETILE_DEVICE or the machine offers

  auto x = Tensor::of(rt, {{1, -2}, {3, 4}});
  auto w = Tensor::of(rt, {{2, 0}, {0, 3}});
  auto y = relu(matmul(x, w));  // nothing has run yet

  // One kernel: the matrix unit multiplies into the tile's Dst registers, the vector unit clamps what is there, and only then is it packed to memory.
  const u64 before = rt.stats().launches;
  std::cout << y << '\n';
  std::cout << "launches: " << rt.stats().launches - before << '\n';

  auto z = Tensor::of(rt, {{1, 2}, {3, 4}});
  std::cout << relu(matmul(z, w)) << '\n';
} catch (const Error& error) {  // every error names the object, the value and the next step
  std::cerr << error.what() << '\n';
  return 1;
}
