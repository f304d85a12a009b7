// Random numbers on the device: Threefry-2x32, counted as JAX does with jax_threefry_partitionable (its default). A key
// is a uint32 tensor [2], so drawing with another key compiles nothing.
//   Tensor key = random::key(rt, 42);  Tensor x = random::uniform(key, {2, 3});  //
//   jax.random.uniform(jax.random.PRNGKey(42), (2, 3))
// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
#pragma once
#include "baretile/tensor.h"

#pragma GCC visibility push(default)
namespace baretile {
namespace random {

Tensor key(Runtime& runtime, u64 seed);                       // uint32 [2], as jax.random.PRNGKey(seed)
std::vector<Tensor> split(const Tensor& key, i64 count = 2);  // keys for independent uses

Tensor bits(const Tensor& key, const Shape& shape);  // uint32
// These give JAX's bits for the same key.
Tensor uniform(const Tensor& key, const Shape& shape);                        // fp32 in [0, 1)
Tensor bernoulli(const Tensor& key, double probability, const Shape& shape);  // boolean
Tensor randint(const Tensor& key, const Shape& shape, i64 low, i64 high);     // int32 in [low, high)
// These differ from JAX's by the last places of logarithms and roots.
Tensor normal(const Tensor& key, const Shape& shape);         // fp32
Tensor categorical(const Tensor& key, const Tensor& logits);  // int32: an index of the last axis for each of the others

}  // namespace random
}  // namespace baretile
#pragma GCC visibility pop
