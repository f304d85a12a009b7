// BRISC of a worker: waits for a launch, lets the tile's other cores go, runs its own kernel, acknowledges.
#include "device.h"

namespace baretile::firmware {
namespace {

constexpr u32 kHoldFollowers = isa::kHoldAll & ~isa::kHoldBrisc;
constexpr u32 kBrisc = u32(isa::Core::brisc);
constexpr u32 kInvalidateInstructionCaches =
    isa::kConfig + 4 * 185;  // RISCV_IC_INVALIDATE_InvalidateAll, one bit a core

// The request that acknowledges a launch is the same each time, so that sending it is one store.
void prepare_acknowledgement() {
  constexpr u32 b = abi::kFirmwareCommandBuffer;
  niu(b, isa::kNiuTargLo) = abi::kQueueControl + offsetof(abi::QueueControl, acks);
  niu(b, isa::kNiuTargMid) = 0;
  niu(b, isa::kNiuTargCoord) = mailbox().info.dispatch_coord;
  niu(b, isa::kNiuRetLo) = abi::kMailbox + offsetof(abi::Mailbox, scratch);
  niu(b, isa::kNiuRetMid) = 0;
  niu(b, isa::kNiuRetCoord) = here();
  niu(b, isa::kNiuTag) = 0;
  niu(b, isa::kNiuCtrl) = isa::kNocAtomic;
  niu(b, isa::kNiuLen) = isa::kNocAtomicIncrement32;
  niu(b, isa::kNiuData) = 1;
}

void acknowledge() {
  fence();
  niu(abi::kFirmwareCommandBuffer, isa::kNiuCmd) = 1;
}

// For the next launch; done after the acknowledgement, when nothing waits for it.
void clear_counters(volatile abi::Mailbox& box) {
#pragma unroll
  for (volatile abi::CircularBufferSync& cb : box.cb) {
    cb.pushed = 0;
    cb.popped = 0;
  }
}

// `park`: the followers leave reset for the launch and go back after it; otherwise they wait for `go`.
void launch(volatile abi::Mailbox& box, u32 sequence, bool park) {
  u32 hold = kHoldFollowers;
#pragma unroll
  for (u32 core = 1; core < isa::kCores; ++core) {
    if (box.launch.entry[core] != abi::kNoEntry) hold &= ~hold_bit(core);
  }
  if (park) {
    if (hold != kHoldFollowers) reg(isa::kSoftReset) = hold;
  } else {
    box.go = sequence;
  }
  const u32 entry = box.launch.entry[kBrisc];
  if (entry != abi::kNoEntry) {
    at(kBrisc, abi::waypoint("KRNL"));
    call_kernel(entry);
  }
  at(kBrisc, abi::waypoint("WAIT"));
#pragma unroll
  for (u32 core = 1; core < isa::kCores; ++core) {
    if (hold & hold_bit(core)) continue;
    while (box.core_done[core] != sequence) fence();
  }
  if (park && hold != kHoldFollowers) reg(isa::kSoftReset) = kHoldFollowers;
  box.core_done[kBrisc] = sequence;
}

[[noreturn]] void run_worker() {
  volatile abi::Mailbox& box = mailbox();
  const bool park = box.info.park != 0;
  u32 sequence = 0;
  prepare_acknowledgement();
  for (;;) {
    acknowledge();
    at(kBrisc, abi::waypoint("IDLE"));
    clear_counters(box);
    fence();
    while (box.sequence == sequence) fence();
    sequence = box.sequence;
    fence();
    if (box.launch.flags & abi::kNewCode) reg(kInvalidateInstructionCaches) = 0x1F;
    if (abi::takes_part(box.info, box.launch)) launch(box, sequence, park);
  }
}

}  // namespace
}  // namespace baretile::firmware

// Entered from boot.S.
extern "C" [[noreturn]] void brisc_main() {
  using namespace baretile::firmware;
  const auto& info = mailbox().info;
  if (info.logical_index + 1 == info.tiles) run_dispatch();
  run_worker();
}
