#include "sim/rv32/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/fault.h"
#include "sim/rv32/alu.h"
#include "sim/tile/tile.h"

namespace baretile::sim {
namespace {

constexpr u32 kPollTurn = 128;  // instructions a turn of a polling loop may take

// The slow instructions work on the core itself: pc at the instruction, left counting it as not begun. They end with
// done().
void done(Core& core) {
  core.pc += 4;
  --core.left;
}

Insn* code_page(Core& core, u32 address) {
  if (address >= isa::kL1Bytes || address % 4 != 0)
    fault(FaultKind::bad_address, fmt::format("jump to {:#x}: code runs from aligned L1 addresses only", address));
  return core.tile->code_page(address / kPageBytes);
}

[[gnu::noinline]] void load_register(Core& core, u8 rd, u32 address, u32 bytes) {
  u32 value;
  if (!core.tile->load(core, address, bytes, value)) return;
  core.x[rd] = value;
  done(core);
}

[[gnu::noinline]] void store_register(Core& core, u32 address, u32 bytes, u32 value) {
  const u32 restarts = core.restarts;
  if (core.tile->store(core, address, bytes, value) && core.restarts == restarts) done(core);
}

[[gnu::noinline]] void touch(Core& core, u32 address, u32 bytes) {
  core.tile->l1_written(address, bytes);
  done(core);
}

template <class Function>
[[gnu::noinline]] void atomic(Core& core, const Insn& i, Function f) {
  const u32 address = core.x[i.rs1];
  if (address >= isa::kL1Bytes || address % 4 != 0)
    fault(FaultKind::bad_address, fmt::format("atomic at {:#x}: only aligned words of L1", address));
  u8* const memory = core.tile->l1() + address;
  u32 old;
  std::memcpy(&old, memory, 4);
  const u32 value = f(old, core.x[i.rs2]);
  std::memcpy(memory, &value, 4);
  core.tile->l1_written(address, 4);
  core.x[i.rd] = old;
  done(core);
}

enum CsrAction { csr_write, csr_set, csr_clear };

[[gnu::noinline]] void access_csr(Core& core, const Insn& i, CsrAction action) {
  constexpr u32 kCfg0 = 0x7C0, kCfg0Bits = 0x0104000A;  // CSRs.md; the bits ttsim v1.10 accepts
  const u32 csr = u32(i.imm), operand = core.x[i.rs1], old = core.cfg0;
  if (csr != kCfg0) fault(FaultKind::not_modelled, fmt::format("CSR {:#x}; only cfg0 (0x7c0) is", csr));
  if (action != csr_set && i.rd != kDiscard)
    fault(FaultKind::not_modelled, "CSRRW or CSRRC that also reads the old value; use CSRRS to read");
  const u32 value = action == csr_write ? operand : action == csr_set ? old | operand : old & ~operand;
  if (value & ~kCfg0Bits)
    fault(FaultKind::not_modelled, fmt::format("cfg0 = {:#x}: bits other than {:#x}", value, kCfg0Bits));
  core.cfg0 = value;
  core.x[i.rd] = old;
  done(core);
}

[[gnu::noinline]] void push(Core& core, u32 word) {
  if (!core.is_trisc())
    fault(FaultKind::undefined_behaviour,
          fmt::format(".ttinsn {:#010x}: only the TRISCs push Tensix instructions so", word));
  if (core.tile->push(core, core.thread(), word)) done(core);
}

[[gnu::noinline, noreturn]] void raise_illegal(u32 word) {
  fault(FaultKind::undefined_behaviour, fmt::format("illegal or unsupported RISC-V instruction {:#010x}", word));
}

[[gnu::noinline]] void watch(Core& core, u32 address) {  // with kRecord, before a load from anywhere but local RAM
  u32 word;
  address &= ~3u;
  if (address < isa::kL1Bytes)
    std::memcpy(&word, core.tile->l1() + address, 4);
  else if (!core.tile->may_watch(core, address) || !core.tile->load(core, address, 4, word))
    core.polled.failed = true;
  if (!core.polled.failed) core.polled.read(address, word);
}

// One run of a core; with kRecord one without effects, which ends with core.polled.failed at an instruction that would
// have one. Every method is inlined into go(), and no pointer to the object leaves it, so that the compiler keeps its
// members in registers; leave() and resume() carry them to the core and back around the slow instructions.
template <bool kRecord>
struct Runner {
  [[gnu::always_inline]] explicit Runner(Core& core)
      : core_(core), x_(core.x), tile_(*core.tile), l1_(core.tile->l1()), budget_(core.left), restarts_(core.restarts) {
    enter(core.pc);
  }

  [[gnu::always_inline]] u32 pc() const { return page_ + u32(p_ - base_) * 4; }

  [[gnu::always_inline]] void leave() {
    core_.pc = pc();
    core_.left = budget_ + 1;
  }
  [[gnu::always_inline]] void resume() {
    if (core_.state != CoreState::running || core_.restarts != restarts_) return stop();
    p_ = base_ + (core_.pc - page_) / 4;
    budget_ = core_.left;
  }
  [[gnu::always_inline]] void finish() {
    if (stopped_) return;
    core_.pc = pc();
    core_.left = budget_;
  }
  [[gnu::always_inline]] void give_up() {
    core_.polled.failed = true;
    stop();
  }
  [[gnu::always_inline]] void stop() {
    stopped_ = true;
    budget_ = 0;
  }

  [[gnu::always_inline]] void enter(u32 address) {
    base_ = code_page(core_, address);
    page_ = address & ~(kPageBytes - 1);
    p_ = base_ + address % kPageBytes / 4;
  }
  [[gnu::always_inline]] void jump_to(u32 target) {
    const u32 offset = target - page_;
    if (offset < kPageBytes && offset % 4 == 0) [[likely]] {
      p_ = base_ + offset / 4;
    } else {
      leave();
      enter(target);
    }
  }
  [[gnu::always_inline]] void jump_by(const Insn& i, bool marked) {
    jump_to(pc() + u32(i.imm));
    if (marked) [[unlikely]]
      look_for_spin();
  }

  [[gnu::always_inline]] void look_for_spin() {  // the core has just jumped to a head
    if constexpr (kRecord) return;
    const u32 head = pc();
    if (core_.spin_pc != head) {
      core_.spin_pc = head;
      core_.spin_skip = core_.spin_backoff = 1;
    } else if (core_.spin_skip != 0) {
      --core_.spin_skip;
    } else {
      core_.spun = true;
      core_.pc = head;
      core_.left = budget_;
      stop();
    }
  }

  [[gnu::always_inline]] void Lui(const Insn& i, int) { x_[i.rd] = u32(i.imm), ++p_; }
  [[gnu::always_inline]] void Auipc(const Insn& i, int) { x_[i.rd] = pc() + u32(i.imm), ++p_; }
  [[gnu::always_inline]] void Jal(const Insn& i, int) {
    x_[i.rd] = pc() + 4;
    jump_by(i, i.rs1);
  }
  [[gnu::always_inline]] void Jalr(const Insn& i, int) {
    const u32 target = (x_[i.rs1] + u32(i.imm)) & ~1u, link = pc() + 4;
    const u8 rd = i.rd;
    jump_to(target);
    x_[rd] = link;
  }
  template <class Compare>
  [[gnu::always_inline]] void Branch(const Insn& i, Compare compare) {
    if (compare(x_[i.rs1], x_[i.rs2]))
      jump_by(i, i.rd);
    else
      ++p_;
  }

  template <class Function>
  [[gnu::always_inline]] void Alu(const Insn& i, Function f) {
    x_[i.rd] = f(x_[i.rs1], x_[i.rs2]), ++p_;
  }
  template <class Function>
  [[gnu::always_inline]] void AluImm(const Insn& i, Function f) {
    x_[i.rd] = f(x_[i.rs1], u32(i.imm)), ++p_;
  }
  template <class Function>
  [[gnu::always_inline]] void Alu1(const Insn& i, Function f) {
    x_[i.rd] = f(x_[i.rs1]), ++p_;
  }

  template <class T>
  [[gnu::always_inline]] u8* local(u32 address) {  // local RAM, or nullptr
    const u32 offset = address - isa::kLocalRam;
    return offset < core_.local_bytes && offset % sizeof(T) == 0 ? core_.local_ram + offset : nullptr;
  }

  template <class T>
  [[gnu::always_inline]] void Load(const Insn& i, T value) {
    const u32 address = x_[i.rs1] + u32(i.imm);
    if (address < isa::kL1Bytes && address % sizeof(T) == 0) [[likely]] {
      std::memcpy(&value, l1_ + address, sizeof(T));
      if constexpr (kRecord) watch(core_, address);
    } else if (const u8* memory = local<T>(address)) {
      std::memcpy(&value, memory, sizeof(T));
    } else {
      if constexpr (kRecord) watch(core_, address);
      if (kRecord && core_.polled.failed) return stop();
      leave();
      load_register(core_, i.rd, address, sizeof(T));
      return resume();
    }
    x_[i.rd] = static_cast<u32>(value);
    ++p_;
  }

  template <class T>
  [[gnu::always_inline]] void Store(const Insn& i, T) {
    const u32 address = x_[i.rs1] + u32(i.imm);
    const T value = static_cast<T>(x_[i.rs2]);
    if (address < isa::kL1Bytes && address % sizeof(T) == 0) [[likely]] {
      if constexpr (kRecord) return give_up();
      std::memcpy(l1_ + address, &value, sizeof(T));
      if (tile_.store_has_effects(address)) [[unlikely]] {
        leave();
        touch(core_, address, sizeof(T));
        return resume();
      }
    } else if (u8* memory = local<T>(address)) {
      if (kRecord && std::memcmp(memory, &value, sizeof(T)) != 0) return give_up();
      std::memcpy(memory, &value, sizeof(T));
    } else {
      if constexpr (kRecord) return give_up();
      leave();
      store_register(core_, address, sizeof(T), value);
      return resume();
    }
    ++p_;
  }

  template <class Function>
  [[gnu::always_inline]] void Amo(const Insn& i, Function f) {
    if constexpr (kRecord) return give_up();
    leave();
    atomic(core_, i, f);
    resume();
  }
  [[gnu::always_inline]] void Csr(const Insn& i, CsrAction action) {
    if constexpr (kRecord) return give_up();
    leave();
    access_csr(core_, i, action);
    resume();
  }
  [[gnu::always_inline]] void Fence(const Insn&, int) { ++p_; }
  [[gnu::always_inline]] void Push(const Insn& i) {
    if constexpr (kRecord) return give_up();
    leave();
    push(core_, u32(i.imm));
    resume();
  }

  Core& core_;
  u32* const x_;
  Tile& tile_;
  u8* const l1_;
  Insn* p_ = nullptr;
  Insn* base_ = nullptr;
  u32 page_ = 0;
  u32 budget_;
  const u32 restarts_;
  bool stopped_ = false;
};

// Threaded code: every instruction ends by jumping to the handler of the next one. With kRecord, until the core is back
// at `head`.
template <bool kRecord>
void execute(Core& core, [[maybe_unused]] u32 head) {
  static const void* const kHandlers[] = {
      &&undecoded,
      &&page_end,
      &&illegal,
      &&ttinsn,
#define RV(name, handler, argument, match, mask) &&name,
#include "sim/rv32/rv32.def"
#undef RV
  };
  Runner<kRecord> r(core);
#define AGAIN goto* kHandlers[u32(r.p_->op)]
#define NEXT                                                         \
  do {                                                               \
    if (kRecord && (r.pc() == head || core.polled.failed)) goto out; \
    if (r.budget_ == 0) goto out;                                    \
    --r.budget_;                                                     \
    AGAIN;                                                           \
  } while (false)
  if (r.budget_ != 0) {
    --r.budget_;
    AGAIN;
  }
out:
  return r.finish();
#define RV(name, handler, argument, match, mask) \
  name:                                          \
  r.handler(*r.p_, argument);                    \
  NEXT;
#include "sim/rv32/rv32.def"
#undef RV
ttinsn:
  r.Push(*r.p_);
  NEXT;
undecoded:
  *r.p_ = decode_at(r.l1_, r.pc());
  AGAIN;
page_end:
  r.enter(r.pc());
  AGAIN;
illegal:
  r.leave();
  raise_illegal(u32(r.p_->imm));
#undef NEXT
#undef AGAIN
}

}  // namespace

void run(Core& core) { execute<false>(core, 0); }

bool polls(Core& core) {
  const u32 head = core.pc, left = core.left;
  u32 before[32];
  std::copy_n(core.x, 32, before);
  core.polled.count = 0;
  core.polled.failed = false;
  core.left = kPollTurn;
  execute<true>(core, head);
  const bool unchanged =
      core.pc == head && core.left < kPollTurn && !core.polled.failed && std::equal(before, before + 32, core.x);
  std::copy_n(before, 32, core.x);
  core.pc = head;
  core.left = left;
  return unchanged;
}

void Recorder::read(u32 address, u32 value) {
  for (u32 k = 0; k < count; ++k)
    if (watches[k].address == address) return;
  if (count == kWatches)
    failed = true;
  else
    watches[count++] = {address, value};
}

}  // namespace baretile::sim
