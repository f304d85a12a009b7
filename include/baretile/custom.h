// Operations of your own for the vector unit, element by element. The compiler fuses them with their neighbours as it
// does its own.
//   const CustomOp square("square", R"(
//     namespace baretile::kernel::sfpu {
//     template <u32 D, u32 A>
//     inline void square() { multiply<D, A, A>(); nop(); }
//     })", [](const Tensor& g, std::span<const Tensor> x) { return std::vector{g * 2 * x[0]}; });
//   Tensor y = relu(square({matmul(a, b)}));   // one kernel
#pragma once
#include "baretile/autograd.h"

namespace [[gnu::visibility("default")]] baretile {

class CustomOp {
 public:
  // From the gradient of the result to those of the operands, all in the result's shape.
  using Gradient = std::function<std::vector<Tensor>(const Tensor& gradient, std::span<const Tensor> operands)>;

  // `header` follows the rules at the top of kernels/sfpu/sfpu_core.h and may include its neighbours, as "sfpu/exp.h";
  // the number of operands (one to three) is read from its template parameters. UsageError when it has no such
  // template, or when another operation has the name; CompileError comes from the first use. Kept until the process
  // ends. Without a gradient, grad() refuses to pass through.
  CustomOp(const std::string& name, const std::string& header, Gradient gradient = {});

  // Of broadcast operands; computed in fp32. The result is bf16 if all operands are bf16 or narrower floats, else fp32.
  Tensor operator()(std::vector<Tensor> operands) const;

 private:
  u32 number_;
  Gradient gradient_;
};

}  // namespace baretile
