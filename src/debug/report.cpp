#include "debug/report.h"

#include <algorithm>
#include <thread>

#include "baretile/isa/mmio.h"
#include "debug/linked.h"
#include "noc/coord.h"

namespace baretile::debug {
namespace {

constexpr const char* kCoreNames[] = {"BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"};

// What the waypoints of firmware and kernels wait for.
constexpr struct {
  u32 code;
  const char* text;
} kWaits[] = {
    {abi::waypoint("IDLE"), "a launch"},
    {abi::waypoint("WAIT"), "the tile's other cores"},
    {abi::waypoint("INPW"), "a page in the input ring"},
    {abi::waypoint("INFU"), "room in the input ring"},
    {abi::waypoint("OUTW"), "a page in the output ring"},
    {abi::waypoint("OUFU"), "room in the output ring"},
    {abi::waypoint("READ"), "its reads from memory"},
    {abi::waypoint("MOVR"), "its reads from memory"},
    {abi::waypoint("WRIT"), "its writes to memory"},
    {abi::waypoint("MOVW"), "its writes to memory"},
    {abi::waypoint("ACKS"), "the workers' acknowledgements"},
    {abi::waypoint("MCST"), "a launch record to arrive"},
};

std::string waypoint_text(u32 waypoint) {
  std::string text;
  for (u32 i = 0; i < 4; ++i) {
    const char c = char(waypoint >> 8 * i & 0xFF);
    text += c >= ' ' && c <= '~' ? c : '.';
  }
  const auto known = std::find_if(std::begin(kWaits), std::end(kWaits), [&](auto& w) { return w.code == waypoint; });
  return known == std::end(kWaits) ? text : fmt::format("{} ({})", text, known->text);
}

template <class T>
T read(Chip& chip, NocXY tile, u32 address) {
  T value;
  chip.read(tile, address, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

bool in_kernel(const abi::Mailbox& box, u32 core, u32 sequence) {
  return box.launch.entry[core] != abi::kNoEntry && box.core_done[core] != sequence &&
         (core != 0 || box.waypoints[0] != abi::waypoint("WAIT"));
}

// The core that keeps a tile from being done: a follower that has not returned, else BRISC itself.
u32 unfinished_core(const abi::Mailbox& box, u32 sequence) {
  for (u32 core = 1; core < isa::kCores; ++core)
    if (in_kernel(box, core, sequence)) return core;
  return u32(isa::Core::brisc);
}

void let_run(Chip& chip) {
  for (u32 round = 0; round < 8; ++round) {
    chip.device().progress(256);
    if (!chip.simulated()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// jal: jumps and leaves the address behind it in the link register. src: RISC-V unprivileged ISA, "J-type".
constexpr u32 jump(u32 from, u32 to, u32 link) {
  const u32 by = to - from;
  return (by >> 20 & 1) << 31 | (by >> 1 & 0x3FF) << 21 | (by >> 11 & 1) << 20 | (by >> 12 & 0xFF) << 12 | link << 7 |
         0x6F;
}
constexpr u32 kT6 = 31, kNoLink = 0;

// Where the tile's cores are: whatever instruction of the kernel a core executes next sends it to the trap of boot.S.
// One that waits inside an instruction stays 0.
std::array<u32, isa::kCores> trap_cores(Chip& chip, NocXY tile, const abi::Mailbox& box, const Running& running) {
  constexpr u32 kPosition = abi::kMailbox + offsetof(abi::Mailbox, debug) + offsetof(abi::CoreDebug, position);
  const auto caught = [&] {
    std::array<u32, isa::kCores> out;
    for (u32 core = 0; core < isa::kCores; ++core)
      out[core] = chip.read32(tile, kPosition + core * sizeof(abi::CoreDebug));
    return out;
  };
  for (u32 core = 0; core < isa::kCores; ++core) chip.write32(tile, kPosition + core * sizeof(abi::CoreDebug), 0);
  std::vector<u32> jumps;
  for (u32 at = running.address; at < running.address + running.kernel.code.size(); at += 4)
    jumps.push_back(jump(at, abi::kPositionTrap, kT6));
  chip.write(tile, running.address, std::as_bytes(std::span(jumps)));
  let_run(chip);
  const auto first = caught();
  bool all = true;
  for (u32 core = 0; core < isa::kCores; ++core) all &= first[core] != 0 || !in_kernel(box, core, running.sequence);
  if (all) return first;
  // On a card, a core that turns in its instruction cache does not see them. BRISC starts anew to empty the caches.
  chip.write32(tile, 0, jump(0, abi::kInvalidateCaches, kNoLink));
  const u32 held = chip.read32(tile, isa::kSoftReset);
  chip.set_soft_reset(tile, held | isa::kHoldBrisc);
  chip.set_soft_reset(tile, held & ~u32{isa::kHoldBrisc});
  let_run(chip);
  return caught();
}

std::string place(const Running& running, u32 address, const Symbols* symbols) {
  const u32 offset = address - running.address;
  std::string text;
  if (symbols && offset < running.kernel.code.size())
    for (const Line& line : symbols->lines(offset)) text += (text.empty() ? "" : ", called at ") + to_string(line);
  return text.empty() ? fmt::format("byte {:#x} of its code", offset) : text;
}

// A line for each core of the tile and for each circular buffer that was used.
std::string tile_state(const Running& running, NocXY tile, const abi::Mailbox& box, KernelSymbols& kernels) {
  std::string text, why_not;
  for (u32 i = 0; i < abi::kMaxCircularBuffers; ++i)
    if (box.cb[i].pushed != 0 || box.cb[i].popped != 0)
      text += fmt::format("\n  circular buffer {}: {} pages in it ({} pushed, {} popped)", i,
                          box.cb[i].pushed - box.cb[i].popped, box.cb[i].pushed, box.cb[i].popped);
  const Symbols* symbols = kernels.of(running.kernel, why_not);
  if (!symbols) text += "\n  no source lines: " + why_not;
  std::array<u32, isa::kCores> positions{};
  try {
    positions = trap_cores(running.chip, tile, box, running);
  } catch (const Error& error) {  // the report must not be lost to a device that gave up altogether
    text += fmt::format("\n  the cores' places could not be read: {}", error.what());
  }
  std::string cores;
  for (u32 core = 0; core < isa::kCores; ++core) {
    if (core != 0 && box.launch.entry[core] == abi::kNoEntry) continue;
    cores += fmt::format("\n  {:6} ", kCoreNames[core]);
    if (core != 0 && !in_kernel(box, core, running.sequence)) {
      cores += "has returned";
      continue;
    }
    cores += waypoint_text(box.waypoints[core]);
    if (!in_kernel(box, core, running.sequence)) continue;
    if (positions[core] != 0)
      cores += " at " + place(running, positions[core], symbols);
    else if (box.debug[core].position != 0)
      cores += " after " + place(running, box.debug[core].position, symbols) + ", waiting inside an instruction";
    else
      cores += " inside an instruction that does not end";
  }
  return cores + text;
}

}  // namespace

const Symbols* KernelSymbols::of(const KernelImage& kernel, std::string& why_not) try {
  const auto known = by_key_.find(kernel.key);
  if (known != by_key_.end()) return &known->second;
  return &by_key_.emplace(kernel.key, Symbols(linked_with_lines(kernel))).first->second;
} catch (const Error& error) {  // of the machine or the cache; what is reported without lines is still worth having
  why_not = error.what();
  return nullptr;
}

std::vector<std::string> take_prints(const Running& running, KernelSymbols& kernels, std::vector<u32>& shown,
                                     bool ended) {
  constexpr u32 kDebug = abi::kMailbox + offsetof(abi::Mailbox, debug);
  std::vector<std::string> out;
  std::string why_not;
  for (u32 worker = 0; worker < running.grid.workers(); ++worker) {
    const NocXY tile = running.grid.tiles[worker];
    auto states = read<std::array<abi::CoreDebug, isa::kCores>>(running.chip, tile, kDebug);
    for (u32 core = 0; core < isa::kCores; ++core) {
      abi::CoreDebug& state = states[core];
      const u32 log = abi::kDebugLog + core * abi::kDebugLogBytes;
      u32& taken = shown[worker * isa::kCores + core];
      if (state.next == log + (ended ? 0 : taken) && (!ended || state.dropped == 0)) continue;
      const std::string who = fmt::format("[{}, {}, {}] ", noc::name(tile), kCoreNames[core], running.name);
      const u32 end = state.failed != 0 ? state.failed : state.next;  // a failed bt_assert's record is no print
      std::vector<u32> words(std::min(end - log - taken, abi::kDebugLogBytes) / 4);
      running.chip.read(tile, log + taken, std::as_writable_bytes(std::span(words)));
      taken = end - log;
      if (const Symbols* symbols = kernels.of(running.kernel, why_not))
        for (const Record& record : read_log(words, *symbols)) out.push_back(who + printed(record));
      else if (!words.empty())
        out.push_back(who + fmt::format("{} words of bt_print cannot be read: {}", words.size(), why_not));
      if (!ended) continue;
      if (state.dropped != 0)
        out.push_back(who +
                      fmt::format("{} more had no room in the log of {} bytes", state.dropped, abi::kDebugLogBytes));
      state.next = log;
      state.dropped = taken = 0;
      running.chip.write(tile, kDebug + core * sizeof(state), std::as_bytes(std::span(&state, 1)));
    }
  }
  return out;
}

void throw_failure(const Running& running, KernelSymbols& kernels) {
  std::string why_not;
  const Symbols* symbols = kernels.of(running.kernel, why_not);
  for (u32 worker = 0; worker < running.grid.workers(); ++worker) {
    const NocXY tile = running.grid.tiles[worker];
    const auto box = read<abi::Mailbox>(running.chip, tile, abi::kMailbox);
    for (u32 core = 0; core < isa::kCores; ++core) {
      if (box.debug[core].failed == 0) continue;
      const std::string where = fmt::format("{}, {}", noc::name(tile), kCoreNames[core]);
      std::array<u32, abi::kMostRecordBytes / 4> words;
      running.chip.read(tile, box.debug[core].failed, std::as_writable_bytes(std::span(words)));
      const std::string what = symbols ? failure(read_log(words, *symbols).front()) : "a bt_assert; " + why_not;
      throw DeviceError(fmt::format("{} stopped at {} in {}; correct the kernel", where, what, running.name), where,
                        running.name);
    }
  }
  throw DeviceError(fmt::format("a bt_assert failed in {}, and no core says which; run it again", running.name), {},
                    running.name);
}

void throw_hang(const Running& running, std::chrono::milliseconds deadline, KernelSymbols& kernels) {
  const firmware::Grid& grid = running.grid;
  std::vector<std::pair<NocXY, abi::Mailbox>> stuck;
  for (u32 tile = 0; tile < grid.workers(); ++tile) {
    const auto box = read<abi::Mailbox>(running.chip, grid.tiles[tile], abi::kMailbox);
    if (box.sequence == running.sequence && abi::takes_part(box.info, box.launch) &&
        box.core_done[0] != running.sequence)
      stuck.emplace_back(grid.tiles[tile], box);
  }
  std::string where = noc::name(grid.dispatch()) + ", BRISC (dispatch)", state;
  if (stuck.empty()) {
    const auto box = read<abi::Mailbox>(running.chip, grid.dispatch(), abi::kMailbox);
    state = "it waits at " + waypoint_text(box.waypoints[0]);
  } else {
    const auto& [tile, box] = stuck.front();
    where = fmt::format("{}, {}", noc::name(tile), kCoreNames[unfinished_core(box, running.sequence)]);
    state = fmt::format("{} waits, and {} more do:{}", noc::name(tile), stuck.size() - 1,
                        tile_state(running, tile, box, kernels));
  }
  throw DeviceError(fmt::format("{} does not return from {}: no core of {} workers moved for {} ms; look "
                                "for the wait that cannot end in that kernel. {}",
                                where, running.name, grid.workers(), deadline.count(), state),
                    where, running.name);
}

}  // namespace baretile::debug
