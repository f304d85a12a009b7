// Pages between DRAM and L1. NCRISC reads on NoC 0, BRISC writes on NoC 1.
#pragma once
#include "baretile/isa/noc.h"
#include "cb.h"

namespace baretile::kernel {

// One command buffer of one NIU. `here` is on the tile's side of every transfer.
template <u32 noc, u32 buffer>
struct Niu {
  static volatile u32& at(u32 offset) { return reg(kNiuBase + noc * kNiuStride + buffer * kNiuCommandStride + offset); }
  static u32 counter(u32 offset) { return reg(kNiuBase + noc * kNiuStride + offset); }
  static u32 here() { return counter(kNiuLogicalId) & 0xFFF; }

  static void prepare(u32 control) {
    at(kNiuTargMid) = 0;
    at(kNiuRetMid) = 0;
    at(control == kNocRead ? kNiuRetCoord : kNiuTargCoord) = here();
    at(kNiuTag) = 0;
    at(kNiuCtrl) = control;
  }
  static void wait_idle() {
    while (at(kNiuCmd) & 1) {
    }
  }
};

// Where a page of a buffer lies; the pages of a run follow one another in one bank.
struct Banks {
  u32 count = mailbox().info.dram_banks;
  struct Where {
    u32 coord, address, left;  // pages of its run, with this one
  };
  [[gnu::always_inline]] Where find(u32 buffer, u32 page, u32 page_bytes) const {
    const u32 length = buffer % abi::kBufferAlign, run = page / length, in_run = page - run * length, row = run / count;
    return {mailbox().info.dram_coord[run - row * count], buffer - length + (row * length + in_run) * page_bytes,
            length - in_run};
  }
};

// What a step of a product takes of an operand: `pages` pages, the n-th of step s is page_of(s, n), or kNoPage.
inline constexpr u32 kNoPage = ~0u;
template <u32 bytes, u32 pages, class PageOf>
struct Operand {
  static constexpr u32 kBytes = bytes * pages;
  u32 buffer;
  PageOf page_of;
};
template <u32 bytes, u32 pages, class PageOf>
inline Operand<bytes, pages, PageOf> operand(u32 buffer, PageOf page_of) {
  return {buffer, page_of};
}

// NCRISC's end of the input ring. Slots are filled in groups with a transaction id each, so that some groups are under
// way while earlier ones are handed on in order.
template <u32 slot>
class Reader {
 public:
  Reader() { Port::prepare(kNocRead); }

  template <u32 bytes>
  [[gnu::always_inline]] void read(u32 buffer, u32 page) {
    request(banks_.find(buffer, page, bytes), ring_.reserve(), bytes);
    filled();
  }
  // A slot for each step and operand.
  template <class... Operands>
  [[gnu::always_inline]] void product(u32 steps, const Operands&... operands) {
    for (u32 s = 0; s < steps; ++s) ((request(operands, s, ring_.reserve()), filled()), ...);
  }
  // Waits for all that was read and hands it on.
  [[gnu::always_inline]] void finish() {
    hand_on(0);
    if (issued_ % kGroup == 0) return;
    wait_for(first_);
    ring_.push(issued_ % kGroup);
  }

 protected:
  using Port = Niu<0, 0>;

  // As finish(), and starts over with the first group.
  void flush() {
    finish();
    issued_ = first_ = 0;
  }
  [[gnu::always_inline]] static void request(Banks::Where where, u32 address, u32 bytes) {
    Port::wait_idle();
    Port::at(kNiuTargLo) = where.address;
    Port::at(kNiuTargCoord) = where.coord;
    Port::at(kNiuRetLo) = address;
    Port::at(kNiuLen) = bytes;
    Port::at(kNiuCmd) = 1;
  }
  // One request for pages that follow one another in a bank.
  template <u32 bytes, u32 pages, class PageOf>
  [[gnu::always_inline]] void request(const Operand<bytes, pages, PageOf>& o, u32 step, u32 address) {
    u32 page = o.page_of(step, 0);
    for (u32 n = 0; n < pages;) {
      const u32 first = page;
      const Banks::Where where = banks_.find(o.buffer, first, bytes);
      u32 count = 1;
      while (++n < pages && (page = o.page_of(step, n)) == first + count && count < where.left) ++count;
      if (first != kNoPage) request(where, address, count * bytes);
      address += count * bytes;
    }
  }

  Banks banks_;
  Producer<InputRing, slot, Core::ncrisc, abi::waypoint("INFU")> ring_;

 private:
  static constexpr u32 kGroup = 4, kIds = 4;

  [[gnu::always_inline]] void filled() {
    if (++issued_ % kGroup == 0) end_group();
  }
  static bool arrived(u32 group) { return Port::counter(kNiuOutstanding + 4 * (group % kIds)) == 0; }
  static void wait_for(u32 group) {
    wait_until<Core::ncrisc, abi::waypoint("READ")>([&] { return arrived(group); });
  }
  [[gnu::always_inline]] void hand_on(u32 most_under_way) {
    for (const u32 groups = issued_ / kGroup; first_ != groups; ++first_) {
      if (!arrived(first_)) {
        if (groups - first_ <= most_under_way) return;
        wait_for(first_);
      }
      ring_.push(kGroup);
    }
  }
  [[gnu::always_inline]] void end_group() {
    hand_on(kIds - 1);
    Port::at(kNiuTag) = (issued_ / kGroup % kIds) << 10;
  }

  u32 issued_ = 0, first_ = 0;  // slots; the oldest group that is not handed on
};

// BRISC's end of the output ring.
template <u32 slot>
class Writer {
 public:
  Writer() { Port::prepare(kNocWrite); }

  template <u32 bytes>
  [[gnu::always_inline]] void write(u32 buffer, u32 page) {
    const Banks::Where where = banks_.find(buffer, page, bytes);
    const u32 address = ring_.take();
    Port::wait_idle();
    Port::at(kNiuTargLo) = address;
    Port::at(kNiuRetLo) = where.address;
    Port::at(kNiuRetCoord) = where.coord;
    Port::at(kNiuLen) = bytes;
    Port::at(kNiuCmd) = 1;
    if (++under_way_ == kMost) finish();
  }
  // Waits until everything is in DRAM.
  [[gnu::always_inline]] void finish() {
    acknowledged_ += under_way_;
    under_way_ = 0;
    wait_until<Core::brisc, abi::waypoint("WRIT")>([&] { return Port::counter(kNiuWriteAcks) == acknowledged_; });
    ring_.free_taken();
  }

 private:
  using Port = Niu<1, 0>;
  static constexpr u32 kMost = 8;

  Banks banks_;
  Consumer<OutputRing, slot, Core::brisc, abi::waypoint("OUTW")> ring_;
  u32 acknowledged_ = Port::counter(kNiuWriteAcks), under_way_ = 0;
};

}  // namespace baretile::kernel
