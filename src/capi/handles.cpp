#include "capi/handles.h"

#include <fmt/format.h>

#include <new>

#include "baretile/error.h"

namespace baretile::capi {
namespace {

thread_local std::string message;

bt_status fail(bt_status status, const char* what) noexcept {
  try {
    message = what;
  } catch (const std::bad_alloc&) {
    message.clear();
  }
  return status;
}

}  // namespace

std::recursive_mutex turns;

bt_status failed() noexcept {
  try {
    throw;
  } catch (const Failed& failed) {
    return failed.status;
  } catch (const UsageError& e) {
    return fail(BT_USAGE_ERROR, e.what());
  } catch (const Unsupported& e) {
    return fail(BT_UNSUPPORTED, e.what());
  } catch (const SystemError& e) {
    return fail(BT_SYSTEM_ERROR, e.what());
  } catch (const DeviceError& e) {
    return fail(BT_DEVICE_ERROR, e.what());
  } catch (const CompileError& e) {
    return fail(BT_COMPILE_ERROR, e.what());
  } catch (const SimFault& e) {
    return fail(BT_SIM_FAULT, e.what());
  } catch (const OutOfMemory& e) {
    return fail(BT_OUT_OF_MEMORY, e.what());
  } catch (const std::bad_alloc&) {
    return fail(BT_OUT_OF_MEMORY, "the host has no memory left for this; free tensors, or use smaller ones");
  } catch (const std::exception& e) {
    return fail(BT_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(BT_INTERNAL_ERROR, "an exception of unknown type; this is a bug in baretile");
  }
}

void refuse_null(const char* name) { throw UsageError(fmt::format("{} is NULL; give a pointer", name)); }

void give(bt_tensor** result, Owner owner, Tensor tensor) {
  bt_tensor*& place = place_for(result);
  place = new bt_tensor{std::move(owner), std::move(tensor)};
}

void give_all(bt_tensor** results, const Owner& owner, const std::vector<Tensor>& tensors) {
  if (!tensors.empty()) needed(results, "the pointer for the results");
  std::vector<std::unique_ptr<bt_tensor>> made;
  for (const Tensor& tensor : tensors) made.push_back(std::make_unique<bt_tensor>(bt_tensor{owner, tensor}));
  for (size_t i = 0; i < made.size(); ++i) results[i] = made[i].release();
}

DType dtype_of(bt_dtype dtype) {
  if (dtype < BT_BOOLEAN || dtype > BT_FP32)
    throw UsageError(fmt::format("{} is no dtype; give one of bt_dtype", int(dtype)));
  return DType(dtype);
}

Operands::Operands(const bt_tensor* const* given, size_t count) {
  if (count > 0) needed(given, "tensors");
  for (size_t i = 0; i < count; ++i) {
    tensors.push_back(given[i] ? given[i]->tensor : Tensor());
    if (given[i] && !owner) owner = given[i]->runtime;
  }
}

void Operands::need_all() const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i]) throw UsageError(fmt::format("tensor {} is NULL; give a tensor", i));
}

Targets::Targets(bt_tensor* const* given, size_t count) {
  Operands(given, count).need_all();
  for (size_t i = 0; i < count; ++i) {
    tensors.push_back(&given[i]->tensor);
    if (!owner) owner = given[i]->runtime;
  }
}

}  // namespace baretile::capi

const char* bt_message() { return baretile::capi::message.c_str(); }
