// The compiler: one visible list of stages, each a function from value to printable value (explain/print.h).
//   Graph -fuse-> FusionPlan -schedule-> Schedule -emit-> sources -build-> images -pack-> Program
#pragma once
#include "compiler/build/build.h"
#include "compiler/fuse/fuse.h"
#include "compiler/schedule.h"

namespace baretile::compiler {

struct Compiled {
  Program program;
  // By graph output: the external slot that holds it. Slots of the graph's own externals come first; an output there
  // was written in place.
  std::vector<u32> output_slots;
};

std::vector<u32> output_slots(const FusionPlan& plan);
Program pack(const Schedule& schedule, std::span<const KernelSource> sources, std::vector<KernelImage> images);

// All stages up to sources; where a kernel's values do not fit in Dst, again with fewer in it.
struct Plans {
  FusionPlan plan;
  Schedule schedule;
  std::vector<KernelSource> sources;
};
Plans plan(const Graph& graph);

Compiled compile(const Graph& graph);

}  // namespace baretile::compiler
