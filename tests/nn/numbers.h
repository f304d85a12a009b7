// The generator of reference.py: the same data there and here.
#pragma once
#include "tensor/array.h"

namespace baretile::nn_test {

class Numbers {
 public:
  explicit Numbers(u32 seed) : state_(seed) {}
  u32 next() { return (state_ = state_ * 1664525 + 1013904223) >> 16; }
  tensor_test::Array eighths(const Shape& shape, double scale = 1) {
    return tensor_test::generate(shape, [&](const Shape&) { return (int(next() % 17) - 8) / 8.0 * scale; });
  }

 private:
  u32 state_;
};

}  // namespace baretile::nn_test
