// What the firmware's sources share. Device code: freestanding, no .data and no .bss (layout.ld refuses them).
#pragma once
#include "baretile/abi.h"
#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"

namespace baretile::firmware {

inline volatile u32& reg(u32 address) { return *reinterpret_cast<volatile u32*>(address); }
inline volatile abi::Mailbox& mailbox() { return *reinterpret_cast<volatile abi::Mailbox*>(abi::kMailbox); }
inline volatile abi::QueueControl& queue_control() {
  return *reinterpret_cast<volatile abi::QueueControl*>(abi::kQueueControl);
}

// Drops the core's L0 lines, which nobody keeps coherent with L1 (MemoryOrdering.md), and drains its stores.
inline void fence() { asm volatile("fence" ::: "memory"); }

inline void at(u32 core, u32 waypoint) { mailbox().waypoints[core] = waypoint; }

// A register of one of NoC 0's command buffers.
inline volatile u32& niu(u32 buffer, u32 offset) {
  return reg(isa::kNiuBase + buffer * isa::kNiuCommandStride + offset);
}
inline u32 here() { return reg(isa::kNiuBase + isa::kNiuLogicalId) & 0xFFF; }

// The index of a core as a hold bit of the soft reset register.
constexpr u32 hold_bit(u32 core) {
  return core == u32(isa::Core::ncrisc) ? isa::kHoldNcrisc : isa::kHoldTrisc0 << (core - u32(isa::Core::trisc0));
}

inline void call_kernel(u32 entry) {
  reinterpret_cast<void (*)(const u32*)>(entry)(
      reinterpret_cast<const u32*>(abi::kMailbox + offsetof(abi::LaunchRecord, args)));
}

[[noreturn]] void run_dispatch();  // dispatch.cc: BRISC of the dispatch tile

}  // namespace baretile::firmware
