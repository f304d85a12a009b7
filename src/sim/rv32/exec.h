// Running a core. Both functions may throw Fault, with core.pc at the instruction at fault.
#pragma once
#include "sim/tile/core.h"

namespace baretile::sim {

// Runs at most core.left instructions. Stops early (core.left > 0) when the core leaves CoreState::running, is
// restarted, or takes a jump that may close a polling loop often enough to look at (core.spun).
void run(Core& core);

// Whether the loop whose head core.pc is at does nothing but read: its next turn, tried out, has no effect and comes
// back to the head with the same registers. Then core.polled holds all it reads, and it repeats until one of those
// words changes. Leaves the core as it is.
bool polls(Core& core);

}  // namespace baretile::sim
