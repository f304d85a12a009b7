// What every tile program begins with: registers, Tensix instructions, waiting, and the tile's share of the work.
#pragma once
#include "baretile/abi.h"
#include "baretile/isa/isa.h"
#include "baretile/isa/mmio.h"
#include "kernels/debug/print.h"

namespace baretile::kernel {

using namespace isa;  // NOLINT: device code speaks the hardware's names

inline volatile u32& reg(u32 address) { return *reinterpret_cast<volatile u32*>(address); }
inline volatile abi::Mailbox& mailbox() { return *reinterpret_cast<volatile abi::Mailbox*>(abi::kMailbox); }
inline volatile u32& config(u32 word) { return reg(kConfig + 4 * word); }

// Drops the core's L0 lines, which nothing keeps coherent with L1 (MemoryOrdering.md).
inline void fence() { asm volatile("fence" ::: "memory"); }

// Hands Tensix instructions to this core's thread: words rotated left by two (PushTensixInstruction.md).
[[gnu::always_inline]] inline void push(u32 rotated) { asm volatile(".word %0" ::"i"(rotated)); }
template <u32... words>
inline void issue() {
  (push(words << 2 | words >> 30), ...);
}

// Waits until every instruction of this thread is done. The store keeps the load behind the pushes, the addition waits
// for its value (ManualTTSync.md).
inline void drain() {
  bt_mark();
  reg(kPcBufDrain) = 0;
  u32 value = reg(kPcBufDrain);
  asm volatile("andi %0, %0, 0" : "+r"(value));
}

// Blocks of a thread's instructions and what they wait for (STALLWAIT.md).
enum Block : u32 {
  kBlockSync = 1 << 1,
  kBlockPack = 1 << 2,
  kBlockUnpack = 1 << 3,
  kBlockMath = 1 << 6,
  kBlockConfig = 1 << 7,
  kBlockSfpu = 1 << 8,
  kBlockAll = 0x1FF
};
enum Condition : u32 {
  kUnpacker0Busy = 1 << 1,
  kUnpacker1Busy = 1 << 2,
  kPackerBusy = 1 << 3,
  kMathBusy = 1 << 4,
  kSrcBEmpty = 1 << 8,
  kStoresPending = 1 << 10,
  kSfpuBusy = 1 << 11
};
template <u32 block, u32 condition>
inline void stall() {
  issue<encode(STALLWAIT{.CondMask = condition, .BlockMask = block})>();
}

template <u32 register_, u32 value>
inline void set_thread_config() {
  issue<encode(SETC16{.Value = value, .Reg = register_})>();
}

// The semaphores of a compute kernel. All are zero between launches; T1, which moves each of them first, sets their
// limits.
enum Semaphore : u32 {
  kDstGranted = 1 << 1,  // T1 -> T0: the load slots of Dst may be written
  kDstLoaded = 1 << 2,   // T0 -> T1: they are
  kDstDone = 1 << 3,     // T1 -> T2: the output slots may be packed; T2 takes it back when they are
};
template <u32 semaphore>
inline void post() {
  issue<encode(SEMPOST{.SemMask = semaphore})>();
}
template <u32 semaphore>
inline void take() {  // waits until it is posted
  bt_mark();
  issue<encode(SEMWAIT{.Cond = 1, .SemMask = semaphore, .BlockMask = kBlockAll})>();
  issue<encode(SEMGET{.SemMask = semaphore})>();
}

// Polls L1 or registers; the waypoint tells the watchdog what is missing.
template <Core core, u32 code, class Ready>
[[gnu::always_inline]] inline void wait_until(Ready ready) {
  if (ready()) return;
  mailbox().waypoints[u32(core)] = code;
  bt_mark();
  do fence();
  while (!ready());
}

// The items this tile works on: every workers-th one, from its own index.
//   for (const u32 item : items(48)) …
struct Items {
  struct End {};
  struct Iterator {
    u32 item, step, count;
    u32 operator*() const { return item; }
    void operator++() { item += step; }
    bool operator!=(End) const { return item < count; }
  };
  u32 count;
  Iterator begin() const { return {mailbox().info.logical_index, mailbox().launch.workers, count}; }
  End end() const { return {}; }
};
inline Items items(u32 count) { return {count}; }

// The columns of output tiles in a block of `width`, of `blocks`: as far apart as there are DRAM banks, so that where
// rows of tiles of the right operand are runs they are all in one; in the last blocks, which are too few for that, side
// by side.
struct Columns {
  u32 first, step;
  u32 operator[](u32 n) const { return first + n * step; }
};
inline Columns columns_beside(u32 block, u32 width, u32 blocks) {
  const u32 banks = mailbox().info.dram_banks;
  if (block >= blocks - blocks % banks) return {block * width, 1};
  return {block / banks * banks * width + block % banks, banks};
}

template <class, u32... i>
struct Sequence {
  template <class Body>
  static void one_by_one(Body body) {
    (body.template operator()<i>(), ...);
  }
  template <class Body>
  static void at_once(Body body) {
    body.template operator()<i...>();
  }
};
// unrolled<n>([]<u32 i>() { … }): i = 0 … n-1.
template <u32 count, class Body>
inline void unrolled(Body body) {
  __make_integer_seq<Sequence, u32, count>::one_by_one(body);
}
// with_indices<n>([]<u32... i>() { … }): all of them. Every function costs its compilation: this is for many
// instructions in one.
template <u32 count, class Body>
inline void with_indices(Body body) {
  __make_integer_seq<Sequence, u32, count>::at_once(body);
}

constexpr u32 least(u32 a, u32 b) { return a < b ? a : b; }

// The products of a block of output tiles go down one column and up the next: each takes over one operand of the one
// before, the right one within a column, the left one from column to column.
template <u32 rows>
constexpr u32 walk_row(u32 column, u32 n) {
  return column % 2 ? rows - 1 - n : n;
}

// What T2 reads Dst as for a page format; packer and matrix unit must agree on it.
constexpr bool in_blocks(Format format) { return format == Format::bfp4 || format == Format::bfp8; }
template <Format format>
inline constexpr Format read_as = in_blocks(format) ? Format::fp32 : format;

}  // namespace baretile::kernel
