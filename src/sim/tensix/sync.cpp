#include "sim/tensix/sync.h"

#include <fmt/format.h>

#include <bit>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

constexpr u32 kStallBitsModelled =
    0xD9F;  // C0 … C4, C7, C8, C10, C11; everything but C7 and C8 is idle between instructions here

u32 one_semaphore(u32 mask, const char* insn) {
  if (std::popcount(mask) != 1)
    fault(FaultKind::not_modelled, fmt::format("{} of semaphore mask {:#x}; exactly one is modelled", insn, mask));
  return u32(std::countr_zero(mask));
}

void check_mutex(u32 index, const char* insn) {
  if (index) fault(FaultKind::not_modelled, fmt::format("{} of mutex {}; only mutex 0 is modelled", insn, index));
}

}  // namespace

void Sync::post(u32 sem) {
  if (semaphore[sem].value < 15) semaphore[sem].value++;
}
void Sync::get(u32 sem) {
  if (semaphore[sem].value) semaphore[sem].value--;
}

bool execute(Sync& s, const isa::STALLWAIT& i) {
  if (!i.BlockMask) fault(FaultKind::not_modelled, "STALLWAIT with block mask 0");
  if (!i.CondMask || i.CondMask & ~kStallBitsModelled)
    fault(FaultKind::not_modelled,
          fmt::format("STALLWAIT with condition mask {:#x}; conditions 0-4, 7, 8, 10 and 11 are modelled", i.CondMask));
  return (!(i.CondMask & 0x80) || s.src[0].ready()) && (!(i.CondMask & 0x100) || s.src[1].ready());
}

bool execute(Sync& s, const isa::SEMWAIT& i) {
  const Sync::Semaphore& sem = s.semaphore[one_semaphore(i.SemMask, "SEMWAIT")];
  if (i.Cond == 1) return sem.value != 0;
  if (i.Cond == 2) return sem.value < sem.max;
  fault(FaultKind::not_modelled,
        fmt::format("SEMWAIT with condition {}; 1 (while zero) and 2 (while at its maximum) are modelled", i.Cond));
}

void execute(Sync& s, const isa::SEMINIT& i) {
  const u32 sem = one_semaphore(i.SemMask, "SEMINIT");
  if (i.Init > i.Max)
    fault(FaultKind::undefined_behaviour,
          fmt::format("SEMINIT of semaphore {} with value {} above its maximum {}", sem, i.Init, i.Max));
  s.semaphore[sem] = {i.Init, i.Max};
}

void execute(Sync& s, const isa::SEMPOST& i) {
  const u32 sem = one_semaphore(i.SemMask, "SEMPOST");
  if (s.semaphore[sem].value >= s.semaphore[sem].max)
    fault(FaultKind::undefined_behaviour,
          fmt::format("SEMPOST of semaphore {} at its maximum {}; wait for room with SEMWAIT", sem,
                      s.semaphore[sem].max));
  s.post(sem);
}

void execute(Sync& s, const isa::SEMGET& i) {
  const u32 sem = one_semaphore(i.SemMask, "SEMGET");
  if (!s.semaphore[sem].value)
    fault(FaultKind::undefined_behaviour, fmt::format("SEMGET of semaphore {} at zero; wait with SEMWAIT", sem));
  s.get(sem);
}

bool execute(Sync& s, u32 thread, const isa::ATGETM& i) {
  check_mutex(i.Index, "ATGETM");
  if (s.mutex_holder == int(thread))
    fault(FaultKind::undefined_behaviour, fmt::format("ATGETM of mutex 0 by T{}, which already holds it", thread));
  if (s.mutex_holder >= 0) return false;
  s.mutex_holder = int(thread);
  return true;
}

void execute(Sync& s, u32 thread, const isa::ATRELM& i) {
  check_mutex(i.Index, "ATRELM");
  if (s.mutex_holder != int(thread))
    fault(FaultKind::undefined_behaviour, fmt::format("ATRELM of mutex 0 by T{}, which does not hold it", thread));
  s.mutex_holder = -1;
}

void release_src(Sync& s, u32 sides, u32 keep) {
  for (u32 side = 0; side < 2; side++) {
    if (!(sides >> side & 1)) continue;
    SrcSide& src = s.src[side];
    if (!(keep >> side & 1)) {
      if (!src.ready())
        fault(FaultKind::undefined_behaviour,
              fmt::format("data valid of Src{} cleared, but bank {} is not valid", "AB"[side], src.matrix_bank));
      src.valid[src.matrix_bank] = false;
    }
    src.matrix_bank ^= 1;
  }
}

std::string describe_wait(const Sync& s, u32 word) {
  if (word >> 24 == isa::STALLWAIT::kOpcode) {
    const auto i = isa::decode<isa::STALLWAIT>(word);
    const bool a = i.CondMask & 0x80 && !s.src[0].ready(), b = i.CondMask & 0x100 && !s.src[1].ready();
    return fmt::format("STALLWAIT until Src{} is valid", a && b ? "A and SrcB" : a ? "A" : "B");
  }
  if (word >> 24 == isa::SEMWAIT::kOpcode) {
    const auto i = isa::decode<isa::SEMWAIT>(word);
    const u32 sem = u32(std::countr_zero(i.SemMask));
    return fmt::format("SEMWAIT on semaphore {} {} (value {}, maximum {})", sem,
                       i.Cond == 1 ? "while zero" : "while at its maximum", s.semaphore[sem].value,
                       s.semaphore[sem].max);
  }
  if (word >> 24 == isa::ATGETM::kOpcode) return fmt::format("ATGETM of mutex 0, held by T{}", s.mutex_holder);
  return {};
}

}  // namespace baretile::sim
