// Operations of your own. CustomOp: what the vector unit does, element by element; the compiler fuses it with its
// neighbours as it does its own.
//   const CustomOp square("square", R"(
//     namespace baretile::kernel::sfpu {
//     template <u32 D, u32 A>
//     inline void square() { multiply<D, A, A>(); nop(); }
//     })", [](const Tensor& g, std::span<const Tensor> x) { return std::vector{g * 2 * x[0]}; });
//   Tensor y = relu(square({matmul(a, b)}));   // one kernel
#pragma once
#include "baretile/autograd.h"

#pragma GCC visibility push(default)
namespace baretile {

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

// A kernel of its own: the programs of a tile's five cores as one text, as compile_kernel takes it.
//   const CustomKernel twice("twice", text, {DType::fp32}, [](std::span<const Shape> x) {
//     return CustomKernel::Result{.shape = x[0], .items = u32(x[0][0] * x[0][1] / 1024)};
//   });
//   Tensor y = relu(twice({x * 2}));   // two kernels if the text calls fused_neighbours, else three
// Operands and result lie in DRAM as matrices in their last two axes, in pages of 32 x 32, as kernels/noc.h reads and
// writes them: page (b * rows + i) * columns + j holds tile i, j of matrix b, in four faces (Tiling::tile), whatever
// the shape. Beyond the last row and column pages hold zeros, and the result's must too. The arguments of the five
// functions are the addresses of the operands and of the result, the number of items, and Result::args.
//
// The compiler declares void fused_neighbours(u32 page), for T1 to call when that page of the result is finished in
// Dst rows 0 to 63, as 32-bit values, and not yet T2's. If the text calls it, what follows in the expression is done
// there as long as it is element by element, in the same dtype and without another operand.
class CustomKernel {
 public:
  struct Result {
    Shape shape;
    DType dtype = DType::fp32;
    u32 items = 1;  // pieces of work, for items() of kernels/kernel.h to share out; no more tiles than that take part
    std::vector<u32> args = {};  // the kernel's own; part of the expression, so that a Jit replays them
  };
  // From the operands' shapes, of which some may be without elements. It throws what it does not take as a UsageError.
  using Plan = std::function<Result(std::span<const Shape> operands)>;
  using Gradient = CustomOp::Gradient;  // each in its operand's shape; an empty tensor where there is none

  // `operands`: their dtypes, no block formats. Alone, the text is compiled once for all shapes. UsageError when the
  // name is no identifier or another operation has it; CompileError comes from the first use. Kept until the process
  // ends.
  CustomKernel(const std::string& name, const std::string& text, std::vector<DType> operands, Plan plan,
               Gradient gradient = {});

  // UsageError for other operands, and for a result that cannot be: without work, or made of a tensor without elements.
  // A result without elements takes no launch.
  Tensor operator()(std::vector<Tensor> operands) const;

 private:
  u32 number_;
  std::vector<DType> operands_;
  Plan plan_;
  Gradient gradient_;
};

}  // namespace baretile
#pragma GCC visibility pop
