#include "sim/tensix/coprocessor.h"

#include <fmt/format.h>

#include <array>

#include "baretile/isa/table.h"
#include "sim/fault.h"
#include "sim/tensix/fpu.h"
#include "sim/tensix/sfpu.h"
#include "sim/tensix/units.h"

namespace baretile::sim {
namespace {

[[gnu::noinline]] void configure(ThreadOperands& o, const Config& config, u32 thread) {
  namespace cfg = isa::cfg;
  const u32* words = config.bank(thread);
  const u32 formats = words[cfg::ALU_FORMAT_SPEC_REG0_SrcA.word];
  o.implied_a = !config.get_thread(thread, isa::thd::DISABLE_IMPLIED_SRCA_FMT_Base);
  o.implied_b = !config.get_thread(thread, isa::thd::DISABLE_IMPLIED_SRCB_FMT_Base);
  o.format_a = isa::Format(cfg::ALU_FORMAT_SPEC_REG0_SrcA.get(formats));
  o.format_b = o.configured_b = isa::Format(cfg::ALU_FORMAT_SPEC_REG1_SrcB.get(formats));
  o.fp32 = cfg::ALU_ACC_CTRL_Fp32_enabled.get(formats);
  o.sfpu_fp32 = cfg::ALU_ACC_CTRL_SFPU_Fp32_enabled.get(formats);
  o.int8 = cfg::ALU_ACC_CTRL_INT8_math_enabled.get(formats);
  o.keep_src_denormals =
      cfg::ALU_ACC_CTRL_Zero_Flag_disabled_src.get(words[cfg::ALU_ACC_CTRL_Zero_Flag_disabled_src.word]);
  o.generation = config.generation();
}

const Operands& operands_of(TensixUnits& u, u32 thread) {
  const Rwc& rwc = u.rwc[thread];
  ThreadOperands& o = u.operands[thread];
  if (o.generation != u.config.generation()) [[unlikely]]
    configure(o, u.config, thread);
  o.bank_a = u.sync.src[0].matrix_bank;
  o.bank_b = u.sync.src[1].matrix_bank;
  o.row_a = rwc.a;
  o.row_b = rwc.b;
  o.dst_offset = u.config.get_thread(thread, isa::thd::DEST_TARGET_REG_CFG_MATH_Offset);
  o.row_dst = rwc.dst + o.dst_offset;
  o.phase = rwc.phase;
  if (o.implied_a) o.format_a = u.state.src_a[o.bank_a].format;
  if (o.implied_b) o.format_b = u.state.src_b[o.bank_b].format;
  return o;
}

template <class Insn, class... List>
constexpr bool is_one_of = (std::is_same_v<Insn, List> || ...);
template <class Insn>
constexpr bool kReadsBoth =
    is_one_of<Insn, isa::MVMUL, isa::ELWMUL, isa::ELWADD, isa::ELWSUB, isa::GMPOOL, isa::GAPOOL>;
template <class Insn>
constexpr bool kReadsA = kReadsBoth<Insn> || is_one_of<Insn, isa::MOVA2D>;
template <class Insn>
constexpr bool kReadsB = kReadsBoth<Insn> || is_one_of<Insn, isa::MOVB2D, isa::MOVB2A, isa::TRNSPSRCB>;

void release_src_of(TensixUnits& u, u32 thread, u32 sides) {
  if (sides) release_src(u.sync, sides, u.config.thread_word(thread, isa::thd::CLR_DVALID_SrcA_Disable.word));
}

// Matrix unit: waits for the banks it reads, then moves the row counters and gives the banks back.
template <class Insn>
bool execute_matrix(TensixUnits& u, u32 thread, const Insn& i) {
  if constexpr (kReadsA<Insn>)
    if (!u.sync.src[0].ready()) return false;
  if constexpr (kReadsB<Insn>)
    if (!u.sync.src[1].ready()) return false;
  exec(u.state, operands_of(u, thread), i);
  if constexpr (is_one_of<Insn, isa::ZEROACC>) {
    if (i.ClearMode < 2) apply_address_mode(u.rwc[thread], u.config, thread, i.AddrMod);
  } else if constexpr (requires { i.AddrMod; }) {
    apply_address_mode(u.rwc[thread], u.config, thread, i.AddrMod);
  }
  if constexpr (requires { i.ClearDvalid; }) release_src_of(u, thread, i.ClearDvalid);
  return true;
}

// Vector unit: only SFPLOAD and SFPSTORE look at the counters, and they leave the fidelity phase alone.
template <class Insn>
bool execute_vector(TensixUnits& u, u32 thread, const Insn& i) {
  if constexpr (requires { i.AddrMod; }) {
    exec(u.state, operands_of(u, thread), i);
    apply_address_mode(u.rwc[thread], u.config, thread, i.AddrMod, false);
  } else {
    static constexpr Operands kNone{};
    exec(u.state, kNone, i);
  }
  return true;
}

bool execute(TensixUnits& u, u32 thread, const isa::SETRWC& i) {
  execute(u.rwc[thread], i);
  release_src_of(u, thread, i.ClearAB);
  return true;
}
bool execute(TensixUnits& u, u32 thread, const isa::INCRWC& i) {
  execute(u.rwc[thread], i);
  return true;
}
bool execute(TensixUnits&, u32, const isa::GATESRCRST&) { return true; }
bool execute(TensixUnits&, u32, const isa::NOP&) { return true; }
bool execute(TensixUnits&, u32, const isa::SETDVALID&) {
  fault(FaultKind::not_modelled, "SETDVALID; use UNPACR_NOP with SetDvalid");
}
bool execute(TensixUnits& u, u32, const isa::CLEARDVALID& i) {
  if (i.Reset || !i.Cleardvalid)
    fault(FaultKind::not_modelled, fmt::format("CLEARDVALID with Reset {}, Cleardvalid {}", i.Reset, i.Cleardvalid));
  release_src(u.sync, i.Cleardvalid, 0);
  return true;
}

template <class Insn>
bool execute_frontend(TensixUnits&, u32, const Insn&) {
  fault(FaultKind::undefined_behaviour, "a MOP, MOP_CFG or REPLAY among the instructions that another one expands to");
}

// By unit: how an instruction's operands reach the function that executes it.
template <class Insn>
bool execute_any(TensixUnits& u, u32 thread, const Insn& i) {
  if constexpr (requires { exec(u.state, Operands{}, i); }) {
    if constexpr (Insn::kOpcode >= isa::SFPLOAD::kOpcode)
      return execute_vector(u, thread, i);
    else
      return execute_matrix(u, thread, i);
  } else if constexpr (requires { execute(u.adc[thread], i); }) {
    execute(u.adc[thread], i);
    return true;
  } else if constexpr (requires { execute(u.sync, thread, i); }) {
    if constexpr (std::is_same_v<decltype(execute(u.sync, thread, i)), bool>)
      return execute(u.sync, thread, i);
    else
      execute(u.sync, thread, i);
    return true;
  } else if constexpr (requires { execute(u.sync, i); }) {
    if constexpr (std::is_same_v<decltype(execute(u.sync, i)), bool>)
      return execute(u.sync, i);
    else
      execute(u.sync, i);
    return true;
  } else if constexpr (is_one_of<Insn, isa::MOP, isa::MOP_CFG, isa::REPLAY>) {
    return execute_frontend(u, thread, i);
  } else {
    return execute(u, thread, i);
  }
}

struct Entry {
  bool (*run)(TensixUnits&, u32 thread, u32 word) = nullptr;  // null: no such instruction here
  u32 known_bits = 0;
};

template <class Insn>
bool run_word(TensixUnits& u, u32 thread, u32 word) {
  return execute_any(u, thread, isa::decode<Insn>(word));
}

constexpr std::array<Entry, 256> kTable = [] {
  std::array<Entry, 256> table{};
#define INSN(name, op, unit) table[op].run = run_word<isa::name>;
#define FIELD(name, lo, width)
#define END
#define INSN_UNSUPPORTED(name, op)
#include "baretile/isa/tensix.def"
#undef INSN
#undef FIELD
#undef END
#undef INSN_UNSUPPORTED
  for (const isa::InsnInfo& info : isa::kInsns) table[info.opcode].known_bits = info.known_bits();
  return table;
}();

std::string name_of_word(u32 word) {
  const isa::InsnInfo* info = isa::find_insn(word >> 24);
  return fmt::format("{} ({:#010x})", info ? info->name : "unknown opcode", word);
}

bool execute_word(TensixUnits& u, u32 thread, u32 word) {
  const Entry& entry = kTable[word >> 24];
  if (!entry.run) fault(FaultKind::not_modelled, fmt::format("instruction {} is not executed", name_of_word(word)));
  if (word & ~entry.known_bits)
    fault(FaultKind::reserved_bits,
          fmt::format("{} has reserved bits {:#x} set", name_of_word(word), word & ~entry.known_bits));
  return entry.run(u, thread, word);
}

bool run_thread(TensixUnits& u, u32 thread) {
  Frontend& f = u.frontend[thread];
  bool any = false;
  try {
    while (f.waiting || f.fetch()) {
      f.waiting = !execute_word(u, thread, f.word);
      if (f.waiting) break;
      any = true;
    }
  } catch (Fault& problem) {
    problem.where += fmt::format("Tensix thread {}, {}", thread, name_of_word(f.word));
    throw;
  }
  return any;
}

void check_thread(u32 thread) {
  if (thread >= kThreads) fault(FaultKind::internal, fmt::format("Tensix thread {}", thread));
}
void check_semaphore(u32 sem) {
  if (sem >= 8) fault(FaultKind::bad_address, fmt::format("semaphore {}; there are 8", sem));
}
u32& gpr_of(TensixUnits& u, u32 thread, u32 index) {
  check_thread(thread);
  if (index >= kGprs) fault(FaultKind::bad_address, fmt::format("Tensix GPR {}; a thread has {}", index, kGprs));
  return u.gpr[thread][index];
}

}  // namespace

Coprocessor::Coprocessor(u8* l1) : units_(std::make_unique<TensixUnits>(l1)) {}
Coprocessor::~Coprocessor() = default;

bool Coprocessor::can_push(u32 thread) const { return units_->frontend[thread].can_push(); }
void Coprocessor::push(u32 thread, u32 word) {
  check_thread(thread);
  units_->frontend[thread].push(word);
}
bool Coprocessor::idle(u32 thread) const { return units_->frontend[thread].idle(); }
bool Coprocessor::mop_idle(u32 thread) const { return units_->frontend[thread].mop_idle(); }

u32 Coprocessor::config_read(u32 word) const { return units_->config.read(0, word); }
void Coprocessor::config_write(u32 word, u32 value) { units_->write_config(0, word, value); }
u32 Coprocessor::gpr_read(u32 thread, u32 index) const { return gpr_of(*units_, thread, index); }
void Coprocessor::gpr_write(u32 thread, u32 index, u32 value) { gpr_of(*units_, thread, index) = value; }
void Coprocessor::mop_config_write(u32 thread, u32 index, u32 value) {
  check_thread(thread);
  units_->frontend[thread].write_mop_config(index, value);
}
u32 Coprocessor::semaphore_value(u32 sem) const {
  check_semaphore(sem);
  return units_->sync.semaphore[sem].value;
}
void Coprocessor::semaphore_post(u32 sem) {
  check_semaphore(sem);
  units_->sync.post(sem);
}
void Coprocessor::semaphore_get(u32 sem) {
  check_semaphore(sem);
  units_->sync.get(sem);
}
void Coprocessor::set_register_store(RegisterStore store, void* context) {
  units_->register_store = store;
  units_->register_store_context = context;
}

bool Coprocessor::run() {
  bool any = false;
  for (bool progress = true; progress; any |= progress) {
    progress = false;
    for (u32 t = 0; t < kThreads; t++) progress |= run_thread(*units_, t);
  }
  return any;
}

std::string Coprocessor::describe(u32 thread) const {
  const Frontend& f = units_->frontend[thread];
  if (!f.waiting) return f.idle() ? "idle" : "running";
  const u32 word = f.word, opcode = word >> 24;
  if (std::string wait = describe_wait(units_->sync, word); !wait.empty()) return wait;
  if (opcode == isa::UNPACR::kOpcode || opcode == isa::UNPACR_NOP::kOpcode)
    return fmt::format("{} until a bank of Src{} is free", name_of_word(word), "AB"[word >> 23 & 1]);
  const bool a = units_->sync.src[0].ready(), b = units_->sync.src[1].ready();
  return fmt::format("{} until Src{} is valid", name_of_word(word), !a && !b ? "A and SrcB" : a ? "B" : "A");
}

}  // namespace baretile::sim
