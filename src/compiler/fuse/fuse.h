// First stage: which kernels compute a graph, and which values they leave in memory in which layout.
#pragma once
#include <map>

#include "compiler/graph/graph.h"
#include "compiler/kernel_spec.h"

namespace baretile::compiler {

// Why a value is in memory rather than in Dst, where it was computed. A set of bits.
enum class Reason : u16 {
  result = 1,      // the graph's
  operand = 2,     // the unpackers feed the matrix unit from memory
  moved = 4,       // read by the data-movement cores
  rounded = 8,     // narrowing happens in memory
  view = 16,       // seen through a view that does not map its tiles to the reader's
  shape = 32,      // the reader runs over another shape
  axis = 64,       // the reader reduces along another axis
  passes = 128,    // a reduction takes its input more than once, which no product is made for
  left = 256,      // a kernel's products have one left operand and one dtype on the right
  dst = 512,       // the reader's values do not fit in Dst along with the writer's
  between = 1024,  // another kernel needs it before this one could go on
  copy = 2048,     // a copy of a view whose elements do not lie in whole pages, or in another layout
  whole = 4096,    // the reader is a kernel of its own
};

// A version of a buffer. Its number is what PlannedKernel::values holds.
struct Value {
  BufferDesc desc;    // external and arena_offset are those of the root of the alias chain
  i32 alias_of = -1;  // in place: starts as that value, in the same buffer
  u16 reasons = 0;
};

struct PlannedKernel {
  KernelSpec spec;
  std::vector<u32> values;  // what the spec's buffers 0, 1, … are
  std::vector<u32> writes;  // among them
  std::vector<u32> after;   // kernels that must have run before, besides the writers of what it reads
  std::vector<u32> nodes;   // that it computes, in the simplified graph
};

struct FusionPlan {
  std::vector<Value> values;
  std::vector<PlannedKernel> kernels;
  std::vector<u32> outputs;  // values, one a Graph::outputs entry
};

// Distinct values a kernel may hold in Dst at once: eight 32-bit tiles. Intermediate results that no register holds
// take some of them, which is only known when a kernel is emitted.
inline constexpr size_t kMaxSlots = 8, kFewestSlots = 2;
struct SlotLimit {
  size_t most = kMaxSlots;
  u32 part = 0;  // nodes of two parts never share a kernel
};
using SlotLimits = std::map<u32, SlotLimit>;  // by node of the simplified graph, where there is one

FusionPlan fuse(const Graph& graph, const SlotLimits& limits = {});

// The value whose buffer a value lies in.
u32 root_of(const FusionPlan& plan, u32 value);

// Orders writes in place behind the readers of the old version; where that is impossible the old version is copied
// first.
void order_versions(FusionPlan& plan);

// Operations on a user's kernel's result alone become part of it, where its text says that it takes them;
// custom/neighbours.cpp.
void fuse_after_custom(FusionPlan& plan);

// A kernel that copies all of value `from` into a new value of that layout.
u32 copy_value(FusionPlan& plan, u32 from, Tiling tiling);

}  // namespace baretile::compiler
