// What stands behind the handles of capi.h, and where exceptions end: `guarded` turns each class into its status and
// keeps the message.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "baretile/capi.h"
#include "baretile/nn.h"
#include "baretile/runtime.h"

namespace baretile::capi {

using Owner = std::shared_ptr<Runtime>;

}  // namespace baretile::capi

struct bt_runtime {
  baretile::capi::Owner runtime;
};
// Tensors share the device, so that it outlives them whatever the order of bt_close and bt_free.
struct bt_tensor {
  baretile::capi::Owner runtime;  // null: of no device
  baretile::Tensor tensor;
};
// An optimiser, and the devices of all parameters that it was given: its state lies there.
struct bt_optimiser {
  struct Rule {
    std::set<baretile::capi::Owner> runtimes;
    std::unique_ptr<baretile::nn::Optimiser> optimiser;
  };
  std::shared_ptr<Rule> rule;
};
// A traced function, or a trainer, whose optimiser lives as long.
struct bt_jit {
  baretile::capi::Owner runtime;
  std::vector<baretile::Tensor> results = {};
  std::shared_ptr<bt_optimiser::Rule> rule = {};
  std::function<std::vector<baretile::Tensor>(const std::vector<baretile::Tensor>& inputs)> call = {};
};

namespace baretile::capi {

// Expressions share nodes, which computing and freeing change: one call at a time, and those that a traced function
// makes.
extern std::recursive_mutex turns;

struct Failed {
  bt_status status;  // of a traced function, which left the message
};

bt_status failed() noexcept;  // the status of the exception that is being handled; its message is kept

template <typename Body>
bt_status guarded(Body body) noexcept {
  try {
    const std::lock_guard turn(turns);
    body();
    return BT_OK;
  } catch (...) {
    return failed();
  }
}

[[noreturn]] void refuse_null(const char* name);

template <typename T>
T& needed(T* pointer, const char* name) {
  if (!pointer) refuse_null(name);
  return *pointer;
}

template <typename T>
T*& place_for(T** result) {
  return needed(result, "the pointer for the result");
}

void give(bt_tensor** result, Owner owner, Tensor tensor);
void give_all(bt_tensor** results, const Owner& owner, const std::vector<Tensor>& tensors);  // all, or none
DType dtype_of(bt_dtype dtype);
void give_named(const Owner& owner, const NamedTensors& all, bt_named each, void* data);  // all, or none

// What a call gets: its tensors, NULL as an empty one, and the device they lie on.
struct Operands {
  Owner owner;
  std::vector<Tensor> tensors;

  Operands(const bt_tensor* const* given, size_t count);
  void need_all() const;
};

// Two of one name, or a null one, are a UsageError.
NamedTensors named(const char* const* names, const std::vector<Tensor>& tensors);

// Handles whose values a call replaces, and the device they lie on.
struct Targets {
  Owner owner;
  std::vector<Tensor*> tensors;

  Targets(bt_tensor* const* given, size_t count);
};

}  // namespace baretile::capi
