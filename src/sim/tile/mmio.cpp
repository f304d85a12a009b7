// The address map of a tile above L1 (BabyRISCV/README.md, "Memory map"): what each register does when read and
// written.
#include "baretile/isa/mmio.h"

#include <fmt/format.h>

#include "sim/chip.h"
#include "sim/fault.h"
#include "sim/tile/tile.h"

namespace baretile::sim {
namespace {

constexpr u32 kTdma = 0xFFB11000, kDebug = 0xFFB12000, kDebugEnd = 0xFFB13000;
constexpr u32 kStreams = 0xFFB40000, kStreamsEnd = 0xFFB80000, kStreamStride = 0x1000;
constexpr u32 kConfigEnd = 0xFFF00000, kPcBuf = 0xFFE80000, kMailboxEnd = isa::kMailbox + 4 * 0x1000;
constexpr u32 kMopWords = 9, kGprWords = 64, kSemaphores = 8;

// Debug registers without a name in isa/mmio.h. Firmware writes the first four; nothing here depends on them.
constexpr u32 kDbgBusCtrl = 0xFFB12054, kCregRead = 0xFFB12058, kDbgArrayRdEn = 0xFFB12060, kDestCgCtrl = 0xFFB12240;
constexpr u32 kDbgArrayCmd = 0xFFB12068;
constexpr u32 kWallClockHiNow = isa::kWallClockLo + 4;
constexpr u32 kTdmaClockGate = kTdma + 0x24;

bool within(u32 address, u32 begin, u32 end) { return address >= begin && address < end; }
bool in_niu(u32 address) { return within(address, isa::kNiuBase, isa::kNiuBase + 2 * isa::kNiuStride); }

[[noreturn]] void no_register(const char* verb, u32 address) {
  fault(FaultKind::bad_address,
        fmt::format("{} at {:#x}: no register there, or one that is not modelled", verb, address));
}

// The three registers of an overlay stream that take any value (0x10, 0x20, 0x28: STREAM_REG 4, 8, 10); -1 for the
// rest.
int stream_scratch(u32 address) {
  switch (address % kStreamStride) {
    case 0x10:
      return 0;
    case 0x20:
      return 1;
    case 0x28:
      return 2;
    default:
      return -1;
  }
}

u32 mailbox_agent(const Core& core) { return core.id == isa::Core::brisc ? 0 : core.thread() + 1; }

}  // namespace

u32 Tile::read_register(u32 address) {
  if (within(address, kDebug, kDebugEnd)) return read_debug(address);
  if (in_niu(address)) return nius_[(address - isa::kNiuBase) / isa::kNiuStride].read(address % isa::kNiuStride);
  if (within(address, kStreams, kStreamsEnd) && stream_scratch(address) >= 0)
    return stream_scratch_[(address - kStreams) / kStreamStride][u32(stream_scratch(address))];
  no_register("read", address);
}

void Tile::write_register(u32 address, u32 value) {
  stir();
  if (within(address, kDebug, kDebugEnd)) return write_debug(address, value);
  if (in_niu(address))
    return nius_[(address - isa::kNiuBase) / isa::kNiuStride].write(chip_, *this, address % isa::kNiuStride, value);
  if (within(address, kStreams, kStreamsEnd) && stream_scratch(address) >= 0) {
    stream_scratch_[(address - kStreams) / kStreamStride][u32(stream_scratch(address))] = value;
    return;
  }
  no_register("write", address);
}

u32 Tile::read_debug(u32 address) {
  switch (address) {
    case isa::kSoftReset:
      return soft_reset_;
    case isa::kWallClockLo:
      wall_clock_hi_ = u32(clock() >> 32);
      return u32(clock());
    case kWallClockHiNow:
      return u32(clock() >> 32);
    case isa::kWallClockHi:
      return wall_clock_hi_;
    case isa::kTriscResetPc:
    case isa::kTriscResetPc + 4:
    case isa::kTriscResetPc + 8:
      return trisc_pc_[(address - isa::kTriscResetPc) / 4];
    case isa::kTriscResetPcOverride:
      return trisc_pc_override_;
    case isa::kNcriscResetPc:
    case isa::kNcriscResetPcOverride:
      fault(FaultKind::not_modelled, "reading back NCRISC's reset pc: ttsim cannot");
    case kDbgArrayCmd:
      return debug_array_cmd_;
    default:
      no_register("read", address);
  }
}

void Tile::write_debug(u32 address, u32 value) {
  switch (address) {
    case isa::kSoftReset:
      return set_soft_reset(value);
    case isa::kTriscResetPc:
    case isa::kTriscResetPc + 4:
    case isa::kTriscResetPc + 8:
      trisc_pc_[(address - isa::kTriscResetPc) / 4] = value;
      return;
    case isa::kTriscResetPcOverride:
      trisc_pc_override_ = value;
      return;
    case isa::kNcriscResetPc:
      ncrisc_pc_ = value;
      return;
    case isa::kNcriscResetPcOverride:
      ncrisc_pc_override_ = value;
      return;
    case kDbgArrayCmd:
      debug_array_cmd_ = value;
      return;
    case kDbgBusCtrl:
    case kCregRead:
    case kDbgArrayRdEn:
    case kDestCgCtrl:
      return;
    default:
      no_register("write", address);
  }
}

bool Tile::load(Core& core, u32 address, u32 bytes, u32& value) {
  if (address % bytes != 0)
    fault(FaultKind::bad_address, fmt::format("misaligned {}-byte load at {:#x}", bytes, address));
  if (bytes != 4)
    fault(FaultKind::bad_address, fmt::format("{}-byte load at {:#x}: registers take words only", bytes, address));
  return load_core_register(core, address, value);
}

bool Tile::load_core_register(Core& core, u32 address, u32& value) {
  const bool trisc = core.is_trisc();
  if (within(address, isa::kMailbox, kMailboxEnd)) return read_mailbox(core, address, value);
  if (trisc && within(address, kPcBuf, kPcBuf + 0x10000)) return read_pc_buffer(core, address - kPcBuf, value);
  if (trisc && within(address, isa::kGpr, isa::kGpr + 4 * kGprWords)) {
    run_tensix();
    value = tensix().gpr_read(core.thread(), (address - isa::kGpr) / 4);
    return true;
  }
  if (core.id != isa::Core::ncrisc && within(address, isa::kConfig, kConfigEnd)) {
    run_tensix();
    value = tensix().config_read((address - isa::kConfig) / 4);
    return true;
  }
  value = read_register(address);
  return true;
}

bool Tile::store(Core& core, u32 address, u32 bytes, u32 value) {
  if (address % bytes != 0)
    fault(FaultKind::bad_address, fmt::format("misaligned {}-byte store at {:#x}", bytes, address));
  if (bytes != 4)
    fault(FaultKind::bad_address, fmt::format("{}-byte store at {:#x}: registers take words only", bytes, address));
  return store_core_register(core, address, value);
}

bool Tile::store_core_register(Core& core, u32 address, u32 value) {
  const bool trisc = core.is_trisc(), brisc = core.id == isa::Core::brisc;
  if (within(address, isa::kMailbox, kMailboxEnd)) return write_mailbox(core, address, value);
  if (trisc && address == isa::kPushInsn) return push(core, core.thread(), value);
  if (brisc && within(address, isa::kPushInsn, isa::kPushInsn + 0x30000) && address % 0x10000 == 0)
    return push(core, (address - isa::kPushInsn) / 0x10000, value);
  if (trisc && within(address, kPcBuf, kPcBuf + 0x10000)) {
    write_pc_buffer(core, address - kPcBuf, value);
  } else if (trisc && within(address, isa::kGpr, isa::kGpr + 4 * kGprWords)) {
    run_tensix();
    tensix().gpr_write(core.thread(), (address - isa::kGpr) / 4, value);
    stir();
  } else if (trisc && within(address, isa::kMopConfig, isa::kMopConfig + 4 * kMopWords)) {
    run_tensix();
    tensix().mop_config_write(core.thread(), (address - isa::kMopConfig) / 4, value);
  } else if (core.id != isa::Core::ncrisc && within(address, isa::kConfig, kConfigEnd)) {
    run_tensix();
    tensix().config_write((address - isa::kConfig) / 4, value);
    stir();
  } else if (address != kTdmaClockGate) {
    if (scheduler_.apart() && leaves_tile(address)) return wait(core, Wait::turn, 0);
    write_register(address, value);
  }
  return true;
}

bool Tile::push(Core& core, u32 thread, u32 word) {
  Coprocessor& unit = tensix();
  if (!unit.can_push(thread)) run_tensix();
  if (!unit.can_push(thread)) return wait(core, Wait::fifo_room, thread);
  unit.push(thread, word);
  tensix_pending_ = true;
  return true;
}

bool Tile::read_pc_buffer(Core& core, u32 offset, u32& value) {
  constexpr u32 kSemaphoreOffset = isa::kPcBufSemaphore - kPcBuf;
  run_tensix();
  value = 0;
  if (kPcBuf + offset == isa::kPcBufDrain)
    return tensix().idle(core.thread()) || wait(core, Wait::tensix_drain, core.thread());
  if (kPcBuf + offset == isa::kPcBufDrainMop)
    return tensix().mop_idle(core.thread()) || wait(core, Wait::mop_drain, core.thread());
  if (!within(offset, kSemaphoreOffset, kSemaphoreOffset + 4 * kSemaphores)) no_register("read", kPcBuf + offset);
  value = tensix().semaphore_value((offset - kSemaphoreOffset) / 4);
  return true;
}

void Tile::write_pc_buffer(const Core&, u32 offset, u32 value) {
  constexpr u32 kSemaphoreOffset = isa::kPcBufSemaphore - kPcBuf;
  if (kPcBuf + offset == isa::kPcBufDrain || kPcBuf + offset == isa::kPcBufDrainMop)
    return;  // only orders memory accesses
  if (!within(offset, kSemaphoreOffset, kSemaphoreOffset + 4 * kSemaphores)) no_register("write", kPcBuf + offset);
  run_tensix();
  const u32 semaphore = (offset - kSemaphoreOffset) / 4;
  if (value & 1)
    tensix().semaphore_get(semaphore);
  else
    tensix().semaphore_post(semaphore);
  tensix_pending_ = true;
  stir();
}

bool Tile::read_mailbox(Core& core, u32 address, u32& value) {
  if (core.id == isa::Core::ncrisc || address % 0x1000 != 0) no_register("read", address);
  const u32 from = (address - isa::kMailbox) / 0x1000, to = mailbox_agent(core);
  std::optional<u32>& box = mailbox(from, to);
  if (!box) return wait(core, Wait::mailbox_value, from * 4 + to);
  value = *box;
  box.reset();
  stir();
  return true;
}

bool Tile::write_mailbox(Core& core, u32 address, u32 value) {
  if (core.id == isa::Core::ncrisc || address % 0x1000 != 0) no_register("write", address);
  const u32 from = mailbox_agent(core), to = (address - isa::kMailbox) / 0x1000;
  std::optional<u32>& box = mailbox(from, to);
  if (box) return wait(core, Wait::mailbox_room, from * 4 + to);
  box = value;
  stir();
  return true;
}

bool Tile::leaves_tile(u32 address) const {
  if (!in_niu(address)) return false;
  return nius_[(address - isa::kNiuBase) / isa::kNiuStride].leaves_tile(chip_, *this, address % isa::kNiuStride);
}

bool Tile::may_watch(const Core& core, u32 address) const {
  if (in_niu(address) || (core.is_trisc() && within(address, isa::kGpr, isa::kGpr + 4 * kGprWords))) return true;
  if (within(address, isa::kPcBufSemaphore, isa::kPcBufSemaphore + 4 * kSemaphores)) return true;
  return within(address, isa::kConfig, kConfigEnd) || address == isa::kSoftReset;
}

}  // namespace baretile::sim
