// NCRISC and the TRISCs: run their part of a launch and say so. They are released from reset for each launch, or wait
// for `go`.
#include "device.h"

namespace baretile::firmware {
namespace {

// For each launch anew, so a core gets from reset to its kernel in few instructions: on a simulator they are what a
// launch costs.
template <u32 core>
[[noreturn, gnu::always_inline]] inline void run_once() {
  volatile abi::Mailbox& box = mailbox();
  const u32 sequence = box.sequence;
  at(core, abi::waypoint("KRNL"));
  call_kernel(box.launch.entry[core]);
  fence();
  box.core_done[core] = sequence;
  for (;;) fence();  // BRISC puts the core back into reset
}

[[noreturn]] void follow_go(u32 core) {
  volatile abi::Mailbox& box = mailbox();
  for (u32 sequence = 0;;) {
    at(core, abi::waypoint("IDLE"));
    while (box.go == sequence) fence();
    sequence = box.go;
    fence();
    const u32 entry = box.launch.entry[core];
    if (entry == abi::kNoEntry) continue;
    at(core, abi::waypoint("KRNL"));
    call_kernel(entry);
    fence();
    box.core_done[core] = sequence;
  }
}

template <isa::Core core>
[[noreturn]] void follow() {
  if (!mailbox().info.park) follow_go(u32(core));
  run_once<u32(core)>();
}

}  // namespace
}  // namespace baretile::firmware

// Entered from boot.S.
extern "C" {
using baretile::isa::Core;
[[noreturn]] void ncrisc_main() { baretile::firmware::follow<Core::ncrisc>(); }
[[noreturn]] void trisc0_main() { baretile::firmware::follow<Core::trisc0>(); }
[[noreturn]] void trisc1_main() { baretile::firmware::follow<Core::trisc1>(); }
[[noreturn]] void trisc2_main() { baretile::firmware::follow<Core::trisc2>(); }
}
