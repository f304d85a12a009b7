// Functions that are traced and replayed; a trainer is one too, whose function gives a loss.
#include "baretile/jit.h"

#include <fmt/format.h>

#include "baretile/error.h"
#include "capi/handles.h"

using namespace baretile::capi;
using baretile::Jit;
using baretile::Tensor;
using baretile::UsageError;

namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// The caller's function as one of tensors: what it gives to bt_jit_result.
Function traced(bt_jit& jit, bt_function function, void* data) {
  if (!function) throw UsageError("the function is NULL; give a pointer");
  return [&jit, function, data](const std::vector<Tensor>& inputs) {
    std::vector<bt_tensor> handles;
    for (const Tensor& input : inputs) handles.push_back({jit.runtime, input});
    std::vector<const bt_tensor*> pointers;
    for (const bt_tensor& handle : handles) pointers.push_back(&handle);
    jit.results.clear();
    if (const bt_status status = function(data, &jit, pointers.data(), pointers.size())) throw Failed{status};
    return std::move(jit.results);
  };
}

}  // namespace

bt_status bt_jit_new(bt_function function, void* data, bt_tensor* const* state, size_t state_count, bt_jit** result) {
  return guarded([&] {
    bt_jit*& place = place_for(result);
    const Targets states(state, state_count);
    auto made = std::make_unique<bt_jit>(bt_jit{.runtime = states.owner});
    const auto jit = std::make_shared<Jit>(traced(*made, function, data), states.tensors);
    made->call = [jit](const std::vector<Tensor>& inputs) { return (*jit)(inputs); };
    place = made.release();
  });
}

bt_status bt_trainer_new(bt_function loss, void* data, bt_tensor* const* parameters, size_t count,
                         bt_optimiser* optimiser, double clip, bt_jit** result) {
  return guarded([&] {
    bt_jit*& place = place_for(result);
    const Targets all(parameters, count);
    auto made = std::make_unique<bt_jit>(bt_jit{.runtime = all.owner, .rule = needed(optimiser, "optimiser").rule});
    made->rule->runtimes.insert(all.owner);
    const auto one = [function = traced(*made, loss, data)](const std::vector<Tensor>& batch) {
      const std::vector<Tensor> results = function(batch);
      if (results.size() != 1)
        throw UsageError(fmt::format("the loss is {} results; it must be one, of one element", results.size()));
      return results[0];
    };
    const auto trainer = std::make_shared<baretile::nn::Trainer>(one, all.tensors, *made->rule->optimiser, float(clip));
    made->call = [trainer](const std::vector<Tensor>& batch) { return std::vector{(*trainer)(batch)}; };
    place = made.release();
  });
}

bt_status bt_jit_result(bt_jit* jit, const bt_tensor* tensor) {
  return guarded([&] { needed(jit, "jit").results.push_back(needed(tensor, "tensor").tensor); });
}

bt_status bt_jit_call(bt_jit* jit, const bt_tensor* const* inputs, size_t count, bt_tensor** results, size_t room,
                      size_t* made) {
  return guarded([&] {
    const Operands given(inputs, count);
    given.need_all();
    size_t& number = needed(made, "the pointer for the number of results");  // refused before state changes
    if (!needed(jit, "jit").runtime) jit->runtime = given.owner;
    const std::vector<Tensor> out = jit->call(given.tensors);
    number = out.size();
    if (out.size() > room) throw UsageError(fmt::format("{} results, and room for {}", out.size(), room));
    give_all(results, jit->runtime, out);
  });
}

void bt_jit_free(bt_jit* jit) {
  const std::lock_guard turn(turns);
  delete jit;
}
