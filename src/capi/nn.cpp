// Weights of new layers, and optimisers.
#include "baretile/nn.h"

#include <fmt/format.h>

#include <algorithm>

#include "baretile/error.h"
#include "capi/handles.h"
#include "compiler/graph/shape.h"

using namespace baretile::capi;
using baretile::NamedTensors;
using baretile::Tensor;
using baretile::UsageError;
namespace nn = baretile::nn;

namespace {

template <typename Options>
struct Option {
  const char* name;
  void (*set)(Options& options, float value);
};

constexpr Option<nn::SGDOptions> kSgd[] = {
    {"rate", [](nn::SGDOptions& o, float v) { o.rate = v; }},
    {"momentum", [](nn::SGDOptions& o, float v) { o.momentum = v; }},
    {"weight_decay", [](nn::SGDOptions& o, float v) { o.weight_decay = v; }},
};
constexpr Option<nn::AdamOptions> kAdam[] = {
    {"rate", [](nn::AdamOptions& o, float v) { o.rate = v; }},
    {"beta1", [](nn::AdamOptions& o, float v) { o.beta1 = v; }},
    {"beta2", [](nn::AdamOptions& o, float v) { o.beta2 = v; }},
    {"epsilon", [](nn::AdamOptions& o, float v) { o.epsilon = v; }},
    {"weight_decay", [](nn::AdamOptions& o, float v) { o.weight_decay = v; }},
};

struct Values {
  const char* const* names;
  const double* values;
  size_t count;
};

template <typename Optimiser, typename Options, size_t N>
std::unique_ptr<nn::Optimiser> optimiser(const Option<Options> (&all)[N], const std::string& rule, Values given) {
  Options options;
  for (size_t i = 0; i < given.count; ++i) {
    const std::string name = &needed(given.names[i], "an option's name");
    const auto option = std::find_if(all, all + N, [&](const auto& o) { return o.name == name; });
    if (option == all + N) {
      std::string names;
      for (const auto& o : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", o.name);
      throw UsageError(fmt::format("{} has no option '{}'; there are {}", rule, name, names));
    }
    option->set(options, float(given.values[i]));
  }
  return std::make_unique<Optimiser>(options);
}

std::unique_ptr<nn::Optimiser> optimiser(const std::string& rule, Values given) {
  if (rule == "SGD") return optimiser<nn::SGD>(kSgd, rule, given);
  if (rule == "Adam") return optimiser<nn::Adam>(kAdam, rule, given);
  if (rule == "AdamW") return optimiser<nn::AdamW>(kAdam, rule, given);
  throw UsageError(fmt::format("'{}' is no optimiser; there are SGD, Adam and AdamW", rule));
}

std::vector<Tensor> mlp(baretile::Runtime& runtime, const std::vector<int64_t>& widths, uint64_t seed,
                        baretile::DType dtype) {
  if (widths.size() < 2)
    throw UsageError(
        fmt::format("{} widths; give those of the inputs, of layers between, and of the outputs", widths.size()));
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] < 1) throw UsageError(fmt::format("width {} is {}; give at least 1", i, widths[i]));
    if (i > 0) baretile::compiler::check_extents("weight", {widths[i], widths[i - 1]});
  }
  if (!is_float(dtype))
    throw UsageError(fmt::format("weights of dtype {}; give one of floats", baretile::compiler::to_string(dtype)));
  if (seed > UINT32_MAX)
    throw UsageError(
        fmt::format("seed {} is beyond 2^32 - 1, the largest of a Mersenne Twister; give a smaller one", seed));
  std::mt19937 random{uint32_t(seed)};
  nn::MLP made = nn::MLP::init(runtime, widths, random, dtype);
  std::vector<Tensor> out;
  for (const Tensor* x : made.parameters()) out.push_back(*x);
  return out;
}

}  // namespace

bt_status bt_mlp(bt_runtime* runtime, const int64_t* widths, size_t count, uint64_t seed, bt_dtype dtype,
                 bt_tensor** parameters) {
  return guarded([&] {
    const Owner& owner = needed(runtime, "runtime").runtime;
    if (count > 0) needed(widths, "widths");
    give_all(parameters, owner, mlp(*owner, {widths, widths + count}, seed, dtype_of(dtype)));
  });
}

bt_status bt_clip_grad_norm(bt_tensor* const* gradients, size_t count, double largest, bt_tensor** length) {
  return guarded([&] {
    place_for(length);
    const Targets all(gradients, count);
    std::vector<Tensor> values;
    for (const Tensor* g : all.tensors) values.push_back(*g);
    give(length, all.owner, nn::clip_grad_norm(values, float(largest)));
    for (size_t i = 0; i < count; ++i) *all.tensors[i] = std::move(values[i]);
  });
}

bt_status bt_optimiser_new(const char* rule, const char* const* options, const double* values, size_t count,
                           bt_optimiser** result) {
  return guarded([&] {
    bt_optimiser*& place = place_for(result);
    if (count > 0) needed(options, "options"), needed(values, "values");
    auto made = std::make_shared<bt_optimiser::Rule>();
    made->optimiser = optimiser(&needed(rule, "the optimiser's name"), {options, values, count});
    place = new bt_optimiser{std::move(made)};
  });
}

bt_status bt_optimiser_set(bt_optimiser* optimiser, const char* option, double value) {
  return guarded([&] {
    const auto rule = needed(optimiser, "optimiser").rule->optimiser.get();
    const std::string name = &needed(option, "option");
    const auto sgd = dynamic_cast<nn::SGD*>(rule);
    const auto adam = dynamic_cast<nn::Adam*>(rule);
    if (name == "rate")
      (sgd ? sgd->options.rate : adam->options.rate) = float(value);
    else if (name == "weight_decay" && dynamic_cast<nn::AdamW*>(rule))
      adam->options.weight_decay = float(value);
    else
      throw UsageError(fmt::format(
          "'{}' does not change; make an optimiser with another; rate changes, and AdamW's weight_decay", name));
  });
}

bt_status bt_optimiser_step(bt_optimiser* optimiser, bt_tensor* const* parameters, size_t count,
                            const bt_tensor* const* gradients, size_t gradient_count, const bt_tensor* const* also,
                            size_t also_count) {
  return guarded([&] {
    bt_optimiser::Rule& rule = *needed(optimiser, "optimiser").rule;
    const Targets all(parameters, count);
    const Operands slopes(gradients, gradient_count), others(also, also_count);
    slopes.need_all();
    others.need_all();
    rule.runtimes.insert(all.owner);
    rule.optimiser->step(all.tensors, slopes.tensors, others.tensors);
  });
}

bt_status bt_optimiser_state(const bt_optimiser* optimiser, bt_named each, void* data) {
  return guarded([&] {
    const bt_optimiser::Rule& rule = *needed(optimiser, "optimiser").rule;
    const NamedTensors state = rule.optimiser->state();
    const auto owns = [&](const Owner& owner) { return owner.get() == state.begin()->second.runtime(); };
    give_named(state.empty() ? nullptr : *std::find_if(rule.runtimes.begin(), rule.runtimes.end(), owns), state, each,
               data);
  });
}

bt_status bt_optimiser_restore(bt_optimiser* optimiser, bt_tensor* const* parameters, size_t count,
                               const char* const* names, const bt_tensor* const* tensors, size_t tensor_count) {
  return guarded([&] {
    bt_optimiser::Rule& rule = *needed(optimiser, "optimiser").rule;
    const Targets all(parameters, count);
    const Operands state(tensors, tensor_count);
    state.need_all();
    rule.runtimes.insert(all.owner);
    rule.optimiser->set_state(all.tensors, named(names, state.tensors));
  });
}

void bt_optimiser_free(bt_optimiser* optimiser) {
  const std::lock_guard turn(turns);
  delete optimiser;
}
