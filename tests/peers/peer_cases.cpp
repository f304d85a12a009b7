// Results of the tensor library for compare.py, which computes them with PyTorch and JAX: FOLDER/cases.json, a case a
// line, and FOLDER/values.bin, the operands and the result of each, as 32-bit words.
//   peer_cases FOLDER        on the device that BARETILE_DEVICE or the machine offers
#include <fmt/ranges.h>

#include <fstream>

#include "baretile/nn.h"
#include "baretile/random.h"
#include "baretile/runtime.h"
#include "compiler/graph/shape.h"
#include "tensor/rows.h"

namespace baretile::tensor_test {
namespace {

constexpr DType fp32 = DType::fp32, bf16 = DType::bf16;

// As far as results may lie from the exact ones.
struct Within {
  double ulp = 0, absolute = 0;
};

class Cases {
 public:
  explicit Cases(const std::string& folder) : list_(folder + "/cases.json"), values_(folder + "/values.bin") {}
  void add(const std::string& name, const std::vector<Tensor>& operands, const Tensor& result, Within within,
           bool seeded = false) {  // the last operand is the result's gradient
    std::vector<std::string> shapes;
    for (const Tensor& x : operands) shapes.push_back(described(x));
    list_ << fmt::format(
        "{{\"name\": \"{}\", \"ulp\": {}, \"absolute\": {}, \"seeded\": {}, \"operands\": [{}], \"result\": {}}}\n",
        name, within.ulp, within.absolute, seeded, fmt::join(shapes, ", "), described(result));
    for (const Tensor& x : operands) write(x);
    write(result);
  }

 private:
  static std::string described(const Tensor& x) {
    return fmt::format("{{\"dtype\": \"{}\", \"shape\": [{}]}}", compiler::to_string(x.dtype()),
                       fmt::join(x.shape(), ", "));
  }
  void write(const Tensor& x) {
    const auto words = [&](const auto& values) {
      values_.write(reinterpret_cast<const char*>(values.data()), std::streamsize(4 * values.size()));
    };
    x.dtype() == DType::int32    ? words(x.to_host_int32())
    : x.dtype() == DType::uint32 ? words(x.to_host_uint32())
                                 : words(x.to_host());
  }
  std::ofstream list_, values_;
};

// Magnitudes from 2^-16 to 2^16 and others about 1; no denormals and no -0, which we treat in our own way.
Tensor operand(Runtime& rt, u32 seed, DType dtype, bool positive = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(64 * 100);
  for (size_t n = 0; n < values.size(); ++n) {
    const float v = uniform(random) * (n % 2 ? 8 : std::exp2(16 * uniform(random)));
    values[n] = positive ? std::abs(v) : v;
  }
  values[0] = kInf, values[1] = positive ? 1 : -kInf, values[2] = 0;
  return Tensor::from_host(rt, values, {64, 100}, dtype);
}

void elementwise(Runtime& rt, Cases& cases) {
  for (const DType dtype : {fp32, bf16}) {
    const Tensor x = operand(rt, 1, dtype), y = operand(rt, 2, dtype);
    for (const Row& row : kRows) {
      if (!takes_floats(row)) continue;
      const bool one = row.operands == 1;
      cases.add(row.name, one ? std::vector{x} : std::vector{x, y}, row.call(x, y), {row.ulp});
      if (compiler::gives_boolean(row.kind) || dtype == bf16) continue;
      const Tensor a = operand(rt, 3, dtype, true).slice(0, 1, 64), b = operand(rt, 4, dtype).slice(0, 1, 64) * 0.01;
      const std::vector<Tensor> operands = one ? std::vector{a} : std::vector{a, b};
      std::vector<Tensor> gradients;
      try {
        gradients = grad(sum(row.call(a, b)), operands);
      } catch (const UsageError&) {  // its row in ops.def says that it has none
        continue;
      }
      for (size_t n = 0; n < operands.size(); ++n)
        cases.add(fmt::format("gradient {} of {}", n, row.name), operands, gradients[n], {64, 1e-6});
    }
  }
  for (const DType dtype : {DType::int32, DType::uint32}) {
    const std::vector<u32> words = integers();
    std::vector<u32> repeated, cycled;
    for (size_t n = 0; n < words.size() * words.size(); ++n)
      repeated.push_back(words[n / words.size()]), cycled.push_back(words[n % words.size()]);
    const auto placed = [&](const std::vector<u32>& v) {
      return dtype == DType::uint32 ? Tensor::from_host(rt, v, {64, 64})
                                    : Tensor::from_host(rt, std::vector<i32>(v.begin(), v.end()), {64, 64});
    };
    const Tensor x = placed(repeated), y = placed(cycled);
    for (const Row& row : kRows)
      if (takes_integers(row) && std::string(row.name).find("shift") == std::string::npos)
        cases.add(row.name, row.operands == 1 ? std::vector{x} : std::vector{x, y}, row.call(x, y), {});
  }
}

void composites(Runtime& rt, Cases& cases) {
  using Call = Tensor (*)(const Tensor&);
  const struct {
    const char* name;
    Call call;
    Within within;
  } list[] = {{"sigmoid", sigmoid, {8}},
              {"softplus", softplus, {8}},
              {"gelu", gelu, {8, 4e-6}},
              {"gelu_tanh", gelu_tanh, {8, 4e-6}},
              {"silu", silu, {8, 1e-6}},
              {"softmax", [](const Tensor& x) { return softmax(x); }, {32}},
              {"log_softmax", [](const Tensor& x) { return nn::log_softmax(x); }, {8, 1e-5}},
              {"logsumexp", [](const Tensor& x) { return logsumexp(x, -1); }, {8, 1e-6}},
              {"mean", [](const Tensor& x) { return mean(x, -1); }, {0, 1e-5}},
              {"var", [](const Tensor& x) { return var(x, -1); }, {32}},
              {"sum", [](const Tensor& x) { return sum(x, -1); }, {0, 1e-4}},
              {"prod", [](const Tensor& x) { return prod(x * 0.25, -1); }, {64}},
              {"max", [](const Tensor& x) { return max(x, -1); }, {}},
              {"min", [](const Tensor& x) { return min(x, -1); }, {}},
              {"argmax", [](const Tensor& x) { return argmax(x, -1); }, {}},
              {"argmin", [](const Tensor& x) { return argmin(x, -1); }, {}},
              {"argsort", [](const Tensor& x) { return argsort(x); }, {}},
              {"cumsum", [](const Tensor& x) { return cumsum(x, -1); }, {0, 1e-4}},
              {"layer_norm", [](const Tensor& x) { return nn::layer_norm(x, 1, 0); }, {16, 1e-6}},
              {"tril", [](const Tensor& x) { return tril(x, 3); }, {}}};
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-6, 6);
  std::vector<float> values(33 * 70);
  for (float& v : values) v = uniform(random);
  const Tensor x = Tensor::from_host(rt, values, {33, 70}), weight = Tensor::from_host(rt, values, {70, 33});
  for (const auto& c : list) {
    cases.add(c.name, {x}, c.call(x), c.within);
    const Tensor result = c.call(x);
    if (result.dtype() != fp32 || c.name == std::string("prod")) continue;
    const Tensor seed = Tensor::from_host(
        rt, std::vector<float>(values.begin(), values.begin() + compiler::element_count(result.shape())),
        result.shape());
    cases.add(std::string("gradient 0 of ") + c.name, {x, seed}, grad(result, {x}, seed)[0], {64, 1e-4}, true);
  }
  cases.add("matmul", {x, weight}, matmul(x, weight, Precision::full), {0, 36 * 70 * 0x1p-21});
  const Tensor key = random::key(rt, 42);
  cases.add("random uniform", {key}, random::uniform(key, {33, 7}), {});
  cases.add("random randint", {key}, random::randint(key, {33, 7}, -5, 1000), {});
}

}  // namespace
}  // namespace baretile::tensor_test

int main(int count, char** words) try {
  using namespace baretile;
  if (count != 2) return fmt::print(stderr, "usage: peer_cases FOLDER\n"), 2;
  Runtime rt;
  tensor_test::Cases cases(words[1]);
  tensor_test::elementwise(rt, cases);
  tensor_test::composites(rt, cases);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
