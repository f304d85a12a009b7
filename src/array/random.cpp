#include "baretile/random.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "compiler/graph/shape.h"
#include "tensor/expr.h"

namespace baretile::random {

namespace {

Tensor rotated(const Tensor& x, int count) { return bit_or(shift_left(x, count), shift_right(x, 32 - count)); }

struct Block {
  Tensor first, second;
};

// Twenty rounds over the counters (0, n), n an element's number in row-major order.
Block threefry(const Tensor& key, const Shape& shape) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  if (key.dtype() != DType::uint32 || key.shape() != Shape{2})
    throw UsageError(fmt::format("random: the key is {} {}; make one with random::key or random::split.",
                                 compiler::to_string(key.dtype()), compiler::to_string(key.shape())));
  const Tensor k0 = key.slice(0, 0, 1), k1 = key.slice(0, 1, 2);
  const std::array keys{k0, k1, bit_xor(bit_xor(k0, k1), 0x1BD11BDA)};
  Tensor x0 = k0.expand(shape), x1 = iota(key.runtime(), shape, DType::uint32) + k1;
  for (int group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      x0 = x0 + x1;
      x1 = bit_xor(rotated(x1, rotation), x0);
    }
    x0 = x0 + keys[size_t(group + 1) % 3];
    x1 = x1 + keys[size_t(group + 2) % 3] + (group + 1);
  }
  return {x0, x1};
}

// x mod y by long division, for y up to 2^31.
Tensor modulo(const Tensor& x, u32 y) {
  Tensor rest = filled(x.runtime(), x.shape(), 0, DType::uint32);
  for (int bit = 31; bit >= 0; --bit) {
    rest = bit_or(shift_left(rest, 1), bit_and(shift_right(x, bit), 1));
    rest = where(rest >= double(y), rest - double(y), rest);
  }
  return rest;
}

constexpr double kTiniest = 0x1p-126;

// Inverse error function: Giles, Approximating the erfinv function (2012), single precision.
Tensor erf_inverse(const Tensor& x) {
  static constexpr double kCentral[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                        -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                     -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const Tensor w = -log1p(-(x * x)), central = w < 5;
  const Tensor t = where(central, w - 2.5, sqrt(w) - 3);
  Tensor p = where(central, kCentral[0], kTail[0]);
  for (size_t i = 1; i < std::size(kCentral); ++i) p = p * t + where(central, kCentral[i], kTail[i]);
  return p * x;
}

// JAX's uniform(low, high): never below low.
Tensor between(const Tensor& key, const Shape& shape, float low, float high) {
  return maximum(uniform(key, shape) * double(high - low) + double(low), double(low));
}

}  // namespace

Tensor key(Runtime& runtime, u64 seed) {
  return Tensor::from_host(runtime, std::vector<u32>{u32(seed >> 32), u32(seed)}, {2});
}

std::vector<Tensor> split(const Tensor& key, i64 count) {
  const Block block = threefry(key, {count});
  const Tensor pairs = stack({block.first, block.second}, -1);
  std::vector<Tensor> keys;
  for (i64 n = 0; n < count; ++n) keys.push_back(pairs.slice(0, n, n + 1).reshape({2}));
  return keys;
}

Tensor bits(const Tensor& key, const Shape& shape) {
  const Block block = threefry(key, shape);
  return bit_xor(block.first, block.second);
}

// 23 random bits behind a binary point: the mantissa that JAX puts behind a one, less that one.
Tensor uniform(const Tensor& key, const Shape& shape) {
  return shift_right(bits(key, shape), 9).cast(DType::fp32) * 0x1p-23;
}

Tensor bernoulli(const Tensor& key, double probability, const Shape& shape) {
  return uniform(key, shape) < double(float(probability));
}

Tensor randint(const Tensor& key, const Shape& shape, i64 low, i64 high) {
  if (low < INT32_MIN || high > INT32_MAX || high <= low || high - low > i64{1} << 31)
    throw UsageError(fmt::format("randint: [{}, {}) is no range of int32; give low < high.", low, high));
  const u32 span = u32(high - low);
  const u32 half = u32((u64{1} << 16) % span), multiplier = u32(u64(u32(half * half)) % span);
  const std::vector<Tensor> keys = split(key);
  const Tensor more = modulo(bits(keys[0], shape), span), less = modulo(bits(keys[1], shape), span);
  const Tensor offset = modulo(more * double(multiplier) + less, span);
  return offset.cast(DType::int32) + double(low);
}

Tensor normal(const Tensor& key, const Shape& shape) {
  const float below = std::nextafter(-1.0f, 0.0f);
  return erf_inverse(between(key, shape, below, 1)) * double(float(M_SQRT2));
}

Tensor categorical(const Tensor& key, const Tensor& logits) {
  const Tensor u = between(key, logits.shape(), float(kTiniest), 1);
  return argmax(logits.cast(DType::fp32) - log(-log(u)), -1);
}

}  // namespace baretile::random
