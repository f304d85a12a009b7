// The rows of ops.def that work element by element, with their references, and the operands that try them.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "compiler/graph/op.h"
#include "tensor/array.h"

namespace baretile::tensor_test {

struct Row {
  const char* name;
  u32 operands;
  compiler::Kind kind;
  double ulp;
  Tensor (*call)(const Tensor&, const Tensor&);
  double (*real)(double, double);
  i64 (*integer)(i64, i64);
};
inline const Row kRows[] = {
#define UNARY(name, doc, kind, reference, gradient, ulp)   \
  {#name,                                                  \
   1,                                                      \
   compiler::Kind::kind,                                   \
   ulp,                                                    \
   [](const Tensor& x, const Tensor&) { return name(x); }, \
   [](double x, double) -> double { return reference; },   \
   [](i64 x, i64) { return i64(reference); }},
#define BINARY(name, doc, kind, reference, gradient_x, gradient_y, ulp) \
  {#name,                                                               \
   2,                                                                   \
   compiler::Kind::kind,                                                \
   ulp,                                                                 \
   [](const Tensor& x, const Tensor& y) { return name(x, y); },         \
   [](double x, double y) -> double { return reference; },              \
   [](i64 x, i64 y) { return i64(reference); }},
#include "baretile/ops.def"
};

inline bool takes_floats(const Row& row) {
  return row.kind != compiler::Kind::bits && row.kind != compiler::Kind::signed_bits;
}
inline bool takes_integers(const Row& row) {
  return row.kind != compiler::Kind::floats && row.kind != compiler::Kind::test;
}
// Whether the same bits stand for the result of both integers, so that operands may count as signed.
inline bool signless(const Row& row) {
  return row.kind == compiler::Kind::ring || row.kind == compiler::Kind::bits || row.kind == compiler::Kind::equality;
}

inline constexpr float kInf = INFINITY, kNan = NAN, kMax = std::numeric_limits<float>::max(),
                       kMin = std::numeric_limits<float>::min();

// The reference, or what a kernel's comment says where it differs from the C library. Denormals count as zero.
inline double expected(const Row& row, double x, double y = 0) {
  const auto flushed = [](double v) { return std::fabs(v) < kMin ? std::copysign(0.0, v) : v; };
  const std::string name = row.name;
  x = flushed(x), y = flushed(y);
  if (name == "rsqrt" && x == 0) return kInf;
  if (name == "relu" && std::isnan(x)) return x;
  return row.real(x, y);
}

inline float float_of(u32 bits) { return std::bit_cast<float>(bits); }

inline const Array& every_bf16() {
  static const Array all = [] {
    Array out{{64, 1024}, {}};
    for (u32 high = 0; high < 65536; ++high) out.values.push_back(float_of(high << 16));
    return out;
  }();
  return all;
}
// 256 mantissas for each exponent and sign: the least, the largest, and others at random.
inline const Array& every_binade() {
  static const Array all = [] {
    Array out{{128, 1024}, {}};
    std::mt19937 random(1);
    for (u32 top = 0; top < 512; ++top)
      for (u32 n = 0; n < 256; ++n)
        out.values.push_back(float_of(top << 23 | (n == 0 ? 0 : n == 1 ? 0x7FFFFF : random() & 0x7FFFFF)));
    return out;
  }();
  return all;
}

// x with a few of each binade, y at random among them or near x, so that they cancel, or of x's opposite sign.
inline std::pair<Array, Array> pairs() {
  const std::vector<double>& all = every_binade().values;
  std::mt19937 random(2);
  Array x{{8, 1024}, {}}, y = x;
  for (size_t n = 0; n < 8 * 1024; ++n) {
    const double a = all[n * 16 + random() % 16], b = all[random() % all.size()];
    const double near = float(-a * (1 + 1e-5)), around = float(std::ldexp(double(random()), -31));
    const u32 style = random() % 8;
    x.values.push_back(a);
    y.values.push_back(style == 0 ? near : style == 1 ? -a : style == 2 ? a : style < 5 ? around : b);
  }
  return {x, y};
}

// Bases of all magnitudes and bases near 1 with exponents up to the ends of the range; integer powers of either sign.
inline std::pair<Array, Array> powers() {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Array x{{3, 4096}, {}}, y = x;
  for (int n = 0; n < 3 * 4096; ++n) {
    const float base = n < 4096   ? std::exp2(126 * uniform(random))
                       : n < 8192 ? 1 + 0.4f * uniform(random)
                                  : 30 * uniform(random);
    x.values.push_back(base);
    y.values.push_back(n < 8192 ? float(128 * uniform(random) / std::log2(base)) : float(int(random() % 41) - 20));
  }
  return {x, y};
}

// Ends of the ranges and of the factors that a product is made of, shift counts, and others of every length.
inline std::vector<u32> integers() {
  std::vector<u32> out{0,          1,          2,          3,          31,         32,        33,       64,
                       0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFE0, 0xFFFFFFE1, 0x7FFFFF,   0x800000,  0x800001, 0xFFFFFF,
                       0x80000000, 0x80000001, 0x7FFFFFFF, 0x7FFFFFFE, 0xC0000000, 0x40000000};
  std::mt19937 random(4);
  while (out.size() < 64) out.push_back(u32(random()) >> random() % 32);
  return out;
}

}  // namespace baretile::tensor_test
