#include "sim/tensix/frontend.h"

#include <fmt/format.h>

#include "baretile/isa/isa.h"
#include "sim/fault.h"

namespace baretile::sim {
namespace {

bool is_nop(u32 word) { return word >> 24 == isa::NOP::kOpcode; }

}  // namespace

void Frontend::push(u32 word) {
  if (!can_push()) fault(FaultKind::internal, "a Tensix FIFO was pushed while full");
  fifo_[tail_++ % kFifoWords] = word;
  queued_mops_ += word >> 24 == isa::MOP::kOpcode;
}

void Frontend::write_mop_config(u32 index, u32 value) {
  if (index >= kMopWords)
    fault(FaultKind::bad_address, fmt::format("MOP configuration has 9 words, not word {}", index));
  if (!mop_idle())
    fault(FaultKind::missing_sync,
          fmt::format("MOP configuration word {} written while a MOP may still be expanding; read 0xFFE80008 first",
                      index));
  mop_config_[index] = value;
}

void Frontend::start_mop(u32 mop) {
  const auto i = isa::decode<isa::MOP>(mop);
  step_ = 0;
  template1_ = i.MopType;
  if (!template1_) {
    const u32 flags = mop_config_[1];
    if (i.LoopCount > 31)
      fault(FaultKind::not_modelled, fmt::format("MOP of template 0 with count {}; up to 31 is modelled", i.LoopCount));
    if (flags > 3)
      fault(FaultKind::not_modelled, fmt::format("MOP of template 0 with flags {:#x}; 0 to 3 are modelled", flags));
    repeats_ = i.LoopCount + 1;
    skip_mask_ = mask_high_ << 16 | i.ZmaskLoOrCount1;
  } else {
    const u32 outer = mop_config_[0], inner = mop_config_[1];
    if (i.LoopCount || i.ZmaskLoOrCount1)
      fault(FaultKind::not_modelled, "MOP of template 1 with a count or a mask in the instruction");
    if (outer < 1 || outer > 32 || inner < 1 || inner > 64)
      fault(FaultKind::not_modelled,
            fmt::format("MOP of {} outer and {} inner iterations; 1 to 32 and 1 to 64 are modelled", outer, inner));
    const bool alternates = !is_nop(mop_config_[6]);
    repeats_ = outer;
    inner_ = alternates ? 2 * inner : inner;
    loop_op_ = mop_config_[5];
    loop_flip_ = alternates ? mop_config_[5] ^ mop_config_[6] : 0;
    has_start_ = !is_nop(mop_config_[2]);
    const u32 ends = is_nop(mop_config_[3]) ? 0 : is_nop(mop_config_[4]) ? 1 : 2;
    steps_ = has_start_ + inner_ + ends;
  }
}

u32 Frontend::template0_word() {
  const bool has_b = mop_config_[1] & 1, has_a123 = mop_config_[1] & 2, skip = skip_mask_ & 1;
  steps_ = (skip ? 1 : has_a123 ? 4 : 1) + has_b;
  if (skip) return mop_config_[7 + step_];
  return has_b && step_ + 1 == steps_ ? mop_config_[2] : mop_config_[3 + step_];
}

u32 Frontend::template1_word() {
  if (has_start_ && step_ == 0) return mop_config_[2];
  const u32 p = step_ - has_start_;
  if (p >= inner_) return mop_config_[3 + p - inner_];
  const u32 op = p + 1 != inner_ ? loop_op_ : mop_config_[repeats_ == 1 ? 7 : 8];
  loop_op_ ^= loop_flip_;
  return op;
}

u32 Frontend::next_of_mop() {
  const u32 out = template1_ ? template1_word() : template0_word();
  if (++step_ == steps_) {
    step_ = 0;
    repeats_--;
    skip_mask_ >>= 1;
  }
  return out;
}

// The next word after MOP expansion.
bool Frontend::next_expanded(u32& out) {
  while (!repeats_) {
    if (head_ == tail_) return false;
    out = fifo_[head_++ % kFifoWords];
    switch (out >> 24) {
      case isa::MOP_CFG::kOpcode:
        if (out & 0xFF0000)
          fault(FaultKind::reserved_bits, fmt::format("MOP_CFG takes 16 bits of mask, not {:#x}", out & 0xFFFFFF));
        mask_high_ = out & 0xFFFF;
        continue;
      case isa::MOP::kOpcode:
        queued_mops_--;
        start_mop(out);
        continue;
      default:
        return true;
    }
  }
  out = next_of_mop();
  return true;
}

bool Frontend::fetch_new() {
  for (;;) {
    if (!next_expanded(word)) return false;
    if (load_left_) {
      load_left_--;
      replay_[load_index_++ % kReplayWords] = word;
      if (run_while_loading_) return true;
      continue;
    }
    if (word >> 24 != isa::REPLAY::kOpcode) return true;
    const auto i = isa::decode<isa::REPLAY>(word);
    if (i.Len < 1 || i.Len > kReplayWords)
      fault(FaultKind::not_modelled, fmt::format("REPLAY of {} instructions; 1 to 32 are modelled", i.Len));
    if (i.ExecuteWhileLoading && !i.LoadMode)
      fault(FaultKind::not_modelled, "REPLAY that executes while loading, but does not load");
    if (!i.LoadMode) {
      play_ = i.StartIdx;
      play_end_ = i.StartIdx + i.Len;
      return fetch();
    }
    load_index_ = i.StartIdx;
    load_left_ = i.Len;
    run_while_loading_ = i.ExecuteWhileLoading;
  }
}

}  // namespace baretile::sim
