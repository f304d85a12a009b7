// What becomes of an expression, as text: its kernels, and why each value they leave is in memory. Nothing runs.
//   std::cout << explain(relu(matmul(x, w)));
#pragma once
#include <span>
#include <string>

#include "baretile/tensor.h"

#pragma GCC visibility push(default)
namespace baretile {

// A line a kernel, named by its operations and the extents it runs over, a line a value that it leaves, and a count.
// Tensors that have a value already take no part. A kernel that turns out to need more of a tile's registers than there
// are is cut further when it is compiled, which is not shown. UsageError for an empty tensor.
std::string explain(std::span<const Tensor> tensors);
inline std::string explain(const Tensor& tensor) { return explain(std::span(&tensor, 1)); }

}  // namespace baretile
#pragma GCC visibility pop
