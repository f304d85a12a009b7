#include "sim/tile/tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/chip.h"
#include "sim/fault.h"

namespace baretile::sim {

Tile::Tile(Chip& chip, u32 index, NocXY raw, NocXY translated, TileMemory memory)
    : chip_(chip),
      scheduler_(chip.scheduler()),
      index_(index),
      translated_(translated),
      l1_(memory.l1),
      nius_{Niu{0, raw, translated}, Niu{1, raw, translated}} {
  u8* ram = memory.local_ram;
  for (u32 k = 0; k < isa::kCores; ++k) {
    Core& core = cores_[k];
    core.tile = this;
    core.id = isa::Core(k);
    core.local_ram = ram;
    core.local_bytes = core.is_trisc() ? isa::kLocalRamBytesTrisc : isa::kLocalRamBytesBrisc;
    ram += core.local_bytes;
  }
}

Coprocessor& Tile::tensix() {
  if (!tensix_) tensix_ = std::make_unique<Coprocessor>(l1_);
  return *tensix_;
}

Insn* Tile::code_page(u32 page) {
  if (!code_[page]) {
    code_[page] = std::make_unique<CodePage>();
    page_flags_[page] |= kHasCode;
  }
  return code_[page]->insns;
}

void Tile::l1_written(u32 address, u32 bytes) {
  const u32 end = address + bytes;
  for (u32 page = address / kPageBytes; page * kPageBytes < end; ++page) {
    if (page_flags_[page] & kIsWatched) stir();
    if (!code_[page]) continue;
    const u32 first = std::max(address, page * kPageBytes) % kPageBytes / 4;
    const u32 last = (std::min(end, (page + 1) * kPageBytes) - 1) % kPageBytes / 4;
    std::fill(&code_[page]->insns[first], &code_[page]->insns[last + 1], Insn{});
    for (Core& core : cores_) core.polled.failed |= core.state == CoreState::polling;  // its loop may not be one any more
    stir();
  }
}

u8* Tile::memory(u64 address, u32 bytes) const {
  if (address >= isa::kL1Bytes) return nullptr;
  if (bytes > isa::kL1Bytes - address)
    fault(FaultKind::bad_address, fmt::format("{} bytes at {:#x} end beyond the 1.5 MiB of L1", bytes, address));
  return l1_ + address;
}

namespace {

void check_register_access(u64 address, u32 bytes) {
  if (bytes != 4 || address % 4 != 0 || address >> 32)
    fault(FaultKind::bad_address,
          fmt::format("{} bytes at {:#x}: outside L1 a tile has aligned 32-bit registers only", bytes, address));
}

}  // namespace

void Tile::read(u64 address, void* out, u32 bytes) {
  if (const u8* source = memory(address, bytes)) {
    std::memcpy(out, source, bytes);
    return;
  }
  check_register_access(address, bytes);
  const u32 value = read_register(u32(address));
  std::memcpy(out, &value, 4);
}

void Tile::write(u64 address, const void* data, u32 bytes) {
  if (u8* target = memory(address, bytes)) {
    for (u32 line = 0; line < bytes; line += 64) __builtin_prefetch(target + line, 1);  // mostly in no cache: at once
    std::memmove(target, data, bytes);
    l1_written(u32(address), bytes);
    return;
  }
  check_register_access(address, bytes);
  u32 value;
  std::memcpy(&value, data, 4);
  write_register(u32(address), value);
}

u64 Tile::clock() const { return running ? running->clock() : scheduler_.clock(); }

void Tile::stir() {
  stirred_ = true;
  stir_time_ = std::max(stir_time_, clock());
  scheduler_.activate(*this);
}

void Tile::start_polling(Core& core) {
  core.state = CoreState::polling;
  for (u32 k = 0; k < core.polled.count; ++k)
    if (const u32 address = core.polled.watches[k].address; address < isa::kL1Bytes)
      page_flags_[address / kPageBytes] |= kIsWatched;
  watching_ = true;
  stirred_ = true;  // look once more: the coprocessor may have written a word while it was not watched
}

bool Tile::wait(Core& core, Wait what, u32 index) {
  core.state = CoreState::waiting;
  core.wait = what;
  core.wait_index = u8(index);
  return false;
}

bool Tile::can_go_on(Core& core) {
  if (core.state == CoreState::polling) {
    if (core.polled.failed) return true;
    for (u32 k = 0; k < core.polled.count; ++k) {
      const Watch& watch = core.polled.watches[k];
      u32 value;
      if (watch.address < isa::kL1Bytes)
        std::memcpy(&value, l1_ + watch.address, 4);
      else
        load(core, watch.address, 4, value);
      if (value != watch.value) return true;
    }
    return false;
  }
  switch (core.wait) {
    case Wait::fifo_room:
      return tensix().can_push(core.wait_index);
    case Wait::tensix_drain:
      return tensix().idle(core.wait_index);
    case Wait::mop_drain:
      return tensix().mop_idle(core.wait_index);
    case Wait::mailbox_value:
      return mailboxes_[core.wait_index].has_value();
    case Wait::mailbox_room:
      return !mailboxes_[core.wait_index].has_value();
    case Wait::turn:
      return false;  // the scheduler sees to it
  }
  return true;
}

bool Tile::wake_cores() {
  if (!stirred_) return false;
  stirred_ = false;
  bool woken = false, sleeps = false;
  for (Core& core : cores_) {
    if (core.state != CoreState::polling && core.state != CoreState::waiting) continue;
    if (can_go_on(core)) {
      core.state = CoreState::running;
      core.time = std::max(core.time, stir_time_);
      core.spin_pc = ~0u;
      woken = true;
    } else {
      sleeps |= core.state == CoreState::polling;
    }
  }
  if (watching_ && !sleeps) {
    for (u8& flags : page_flags_) flags &= u8(~kIsWatched);
    watching_ = false;
  }
  return woken;
}

bool Tile::run_tensix() {
  if (!tensix_pending_) return false;
  tensix_pending_ = false;
  if (tensix_->run()) stir();
  return true;
}

bool Tile::has_work() const {
  return std::any_of(cores_.begin(), cores_.end(), [](const Core& core) { return core.state == CoreState::running; });
}

void Tile::release(Core& core) {
  core.pc = reset_pc(core.id);
  core.time = clock();
  core.spin_pc = ~0u;
  core.state = CoreState::running;
  ++core.restarts;
  scheduler_.activate(*this);
}

u32 Tile::reset_pc(isa::Core core) const {
  constexpr u32 kFixed[isa::kCores] = {0, 0x12000, 0x6000, 0xA000, 0xE000};  // SoftReset.md
  if (core == isa::Core::brisc) return 0;
  if (core == isa::Core::ncrisc) return ncrisc_pc_override_ & 1 ? ncrisc_pc_ : kFixed[1];
  const u32 thread = u32(core) - u32(isa::Core::trisc0);
  return trisc_pc_override_ >> thread & 1 ? trisc_pc_[thread] : kFixed[u32(core)];
}

void Tile::set_soft_reset(u32 value) {
  constexpr u32 kHold[isa::kCores] = {isa::kHoldBrisc, isa::kHoldNcrisc, isa::kHoldTrisc0, isa::kHoldTrisc1,
                                      isa::kHoldTrisc2};
  if (value & ~u32{isa::kHoldAll})
    fault(FaultKind::not_modelled,
          fmt::format("soft reset {:#x}: bits other than those of the cores ({:#x})", value, u32{isa::kHoldAll}));
  soft_reset_ = value;
  for (u32 k = 0; k < isa::kCores; ++k) {
    Core& core = cores_[k];
    if (value & kHold[k])
      core.state = CoreState::held;
    else if (core.state == CoreState::held)
      release(core);
  }
}

std::string Tile::describe(const Core& core) {
  std::string text = fmt::format("{} pc {:#x} ", name_of(core.id), core.pc);
  if (core.state == CoreState::held) return text + "is held in soft reset";
  if (core.state == CoreState::running) return text + "runs";
  if (core.state == CoreState::polling) {
    text += core.polled.count ? "polls" : "loops without reading anything";
    for (u32 k = 0; k < core.polled.count; ++k)
      text += fmt::format(" {:#x} (={:#x})", core.polled.watches[k].address, core.polled.watches[k].value);
    return text;
  }
  constexpr const char* kBoxes[] = {"brisc", "trisc0", "trisc1", "trisc2"};
  const u32 index = core.wait_index;
  switch (core.wait) {
    case Wait::fifo_room:
      return text + fmt::format("waits for room in Tensix FIFO {}: {}", index, tensix().describe(index));
    case Wait::tensix_drain:
      return text + fmt::format("waits until Tensix thread {} is done: {}", index, tensix().describe(index));
    case Wait::mop_drain:
      return text + fmt::format("waits for MOP expander {}: {}", index, tensix().describe(index));
    case Wait::mailbox_value:
      return text + fmt::format("waits for a mailbox value from {} to {}", kBoxes[index / 4], kBoxes[index % 4]);
    case Wait::mailbox_room:
      return text + fmt::format("waits for the mailbox from {} to {} to be read", kBoxes[index / 4], kBoxes[index % 4]);
    case Wait::turn:
      return text + "waits for its turn to act on other tiles";
  }
  return text;
}

}  // namespace baretile::sim
