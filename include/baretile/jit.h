// A function of tensors that is traced once for each combination of shapes and dtypes, and then replayed: no graph, no
// search, one queue submission.
//   Jit step([&](const std::vector<Tensor>& in) { w = w - 0.1 * grad(loss(w, in[0]), {w})[0]; return
//   std::vector{w.detach()}; }, {&w}); for (…) step({batch});
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "baretile/tensor.h"

#pragma GCC visibility push(default)
namespace baretile {

class Jit {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  // `state`: tensors that the function gives new values; they go in and come out of every call, and must outlive this.
  // Other tensors that it uses besides its inputs are constants: their values at the first call.
  explicit Jit(Function function, std::vector<Tensor*> state = {});
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  // Results are realized. The function may not realize anything that depends on its inputs or state. A state tensor
  // whose rows are assigned is changed where it lies: realize what shall see the old value before the call. Other state
  // gets its new value where it lies if nothing else holds the old one and the program is done with it.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  size_t traces() const;  // made so far

 private:
  struct [[gnu::visibility("hidden")]] Trace;
  std::unique_ptr<Trace> trace(const std::vector<Tensor>& given, size_t inputs);
  Function function_;
  std::vector<Tensor*> state_;
  std::vector<std::unique_ptr<Trace>> traces_;
};

}  // namespace baretile
#pragma GCC visibility pop
