// The two rings of pages in L1: NCRISC fills the input ring in the order in which T0 takes pages out; T2 fills the
// output ring for BRISC.
#pragma once
#include "kernel.h"

namespace baretile::kernel {

// Slots are equal and hold the largest page of the ring, so that pages of several kinds share one order and one pair of
// counters.
struct InputRing {
  static constexpr u32 kId = 0, kBase = abi::kData, kBytes = abi::kInputRingBytes;
};
struct OutputRing {
  static constexpr u32 kId = 1, kBase = InputRing::kBase + InputRing::kBytes, kBytes = abi::kOutputRingBytes;
};

// A position in a ring of `slot`-byte pages.
template <class Ring, u32 slot>
struct Place {
  static constexpr u32 kSlots = Ring::kBytes / slot, kEnd = Ring::kBase + kSlots * slot;
  u32 address = Ring::kBase, count = 0;
  [[gnu::always_inline]] void advance() {
    address += slot;
    if (address == kEnd) address = Ring::kBase;
    ++count;
  }
};

template <class Ring>
inline volatile abi::CircularBufferSync& sync() {
  return mailbox().cb[Ring::kId];
}

// The end that takes pages out.
template <class Ring, u32 slot, Core core, u32 waypoint>
class Consumer {
 public:
  // The address of the next page, when it has arrived.
  [[gnu::always_inline]] u32 take() {
    if (place_.count == seen_) [[unlikely]] {
      wait_until<core, waypoint>([&] { return (seen_ = sync<Ring>().pushed) != place_.count; });
    }
    const u32 address = place_.address;
    place_.advance();
    return address;
  }
  void free_taken() { sync<Ring>().popped = place_.count; }  // their contents are no longer needed

 private:
  Place<Ring, slot> place_;
  u32 seen_ = 0;
};

// The end that puts pages in.
template <class Ring, u32 slot, Core core, u32 waypoint>
class Producer {
 public:
  // The address of a free slot; push() counts it in once its contents are there.
  [[gnu::always_inline]] u32 reserve() {
    if (free_ == 0) [[unlikely]] {
      wait_until<core, waypoint>([&] { return (free_ = kSlots - (place_.count - sync<Ring>().popped)) != 0; });
    }
    --free_;
    const u32 address = place_.address;
    place_.advance();
    return address;
  }
  void push(u32 pages) { sync<Ring>().pushed = pushed_ += pages; }

 private:
  static constexpr u32 kSlots = Place<Ring, slot>::kSlots;
  Place<Ring, slot> place_;
  u32 free_ = kSlots, pushed_ = 0;
};

}  // namespace baretile::kernel
