#include "runtime/watchdog.h"

#include <fmt/format.h>

#include <ctime>
#include <thread>

#include "baretile/chip.h"
#include "baretile/isa/mmio.h"
#include "noc/coord.h"

namespace baretile {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCoreNames[] = {"BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"};
constexpr u32 kLaunchClocks = 100;  // a launch takes no less on ttsim
constexpr auto kScanInterval = 1s;

std::string waypoint_text(u32 waypoint) {
  std::string text;
  for (u32 i = 0; i < 4; ++i) {
    const char c = char(waypoint >> 8 * i & 0xFF);
    text += c >= ' ' && c <= '~' ? c : '.';
  }
  return text;
}

// The core that keeps a tile from being done: a follower that has not returned, else BRISC itself.
u32 unfinished_core(const abi::Mailbox& box, u32 sequence) {
  for (u32 core = 1; core < isa::kCores; ++core)
    if (box.launch.entry[core] != abi::kNoEntry && box.core_done[core] != sequence) return core;
  return u32(isa::Core::brisc);
}

std::string core_states(const abi::Mailbox& box) {
  std::string text;
  for (u32 core = 0; core < isa::kCores; ++core)
    if (core == 0 || box.launch.entry[core] != abi::kNoEntry)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kCoreNames[core], waypoint_text(box.waypoints[core]));
  return text;
}

}  // namespace

Watchdog::Watchdog(Chip& chip, const firmware::Grid& grid, std::chrono::milliseconds deadline)
    : chip_(chip), grid_(grid), deadline_(deadline) {}

Watchdog::Clock Watchdog::now() const {
  timespec t{};
  clock_gettime(chip_.simulated() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return std::chrono::seconds(t.tv_sec) + Clock(t.tv_nsec);
}

abi::QueueControl Watchdog::control() {
  abi::QueueControl control;
  chip_.read(grid_.dispatch(), abi::kQueueControl, std::as_writable_bytes(std::span(&control, 1)));
  return control;
}

abi::Mailbox Watchdog::mailbox(u32 tile) {
  abi::Mailbox box;
  chip_.read(grid_.tiles[tile], abi::kMailbox, std::as_writable_bytes(std::span(&box, 1)));
  return box;
}

std::string Watchdog::launch_name(const Batch& batch, const abi::QueueControl& control) const {
  const size_t index = std::min<size_t>(control.consumed - batch.first_record, batch.labels.size() - 1);
  return fmt::format("launch '{}' ({} of {})", *batch.labels[index], index + 1, batch.labels.size());
}

// A number that changes whenever a core has got anywhere: done, at another waypoint, or a page through a circular
// buffer.
u64 Watchdog::signs_of_life(const Batch& batch, const abi::QueueControl& control) {
  u64 hash = control.consumed;
  const auto mix = [&](u32 value) { hash = (hash ^ value) * 0x100000001B3u; };
  for (u32 tile = 0; tile < grid_.workers(); ++tile) {
    const abi::Mailbox box = mailbox(tile);
    if (box.assert_info[0] != 0) fail_assertion(batch, control, tile, box);
    for (u32 core = 0; core < isa::kCores; ++core) mix(box.core_done[core]), mix(box.waypoints[core]);
    for (const abi::CircularBufferSync& cb : box.cb) mix(cb.pushed), mix(cb.popped);
  }
  return hash;
}

void Watchdog::fail_assertion(const Batch& batch, const abi::QueueControl& control, u32 tile, const abi::Mailbox& box) {
  const u32* info = box.assert_info;
  const std::string where =
      fmt::format("{}, {}", noc::name(grid_.tiles[tile]), info[1] < isa::kCores ? kCoreNames[info[1]] : "unknown core");
  throw DeviceError(fmt::format("{} stopped at the assertion in line {} of its kernel (values {:#x} {:#x} {:#x} {:#x}) "
                                "in {}; correct the kernel",
                                where, info[0], info[2], info[3], info[4], info[5], launch_name(batch, control)),
                    where, launch_name(batch, control));
}

void Watchdog::give_up(const Batch& batch, const abi::QueueControl& control) {
  const std::string launch = launch_name(batch, control);
  const u32 sequence = batch.first_sequence + (control.consumed - batch.first_record);
  std::string where, state;
  u32 others = 0;
  for (u32 tile = 0; tile < grid_.workers(); ++tile) {
    const abi::Mailbox box = mailbox(tile);
    if (box.sequence != sequence || box.info.logical_index >= box.launch.workers || box.core_done[0] == sequence)
      continue;
    if (!where.empty()) {
      ++others;
      continue;
    }
    where = fmt::format("{}, {}", noc::name(grid_.tiles[tile]), kCoreNames[unfinished_core(box, sequence)]);
    state = core_states(box);
  }
  if (where.empty()) {
    where = fmt::format("{}, BRISC (dispatch)", noc::name(grid_.dispatch()));
    state = core_states(mailbox(grid_.workers()));
  }
  throw DeviceError(fmt::format("{} does not return from {}: no core of {} workers moved for {} ms (waypoints: {}; {} "
                                "more tiles wait too); look for the wait "
                                "that cannot end in that kernel",
                                where, launch, grid_.workers(), deadline_.count(), state, others),
                    where, launch);
}

void Watchdog::wait(const Batch& batch) {
  const u32 fence = batch.records.back().value;
  u64 clocks = 0, life = 0;
  u32 consumed = batch.first_record, step = kLaunchClocks * u32(batch.records.size());
  Clock moved = now(), scanned = moved;
  abi::QueueControl seen{};
  seen.consumed = consumed;
  try {
    for (;;) {
      chip_.device().progress(step);
      seen = control();
      if (seen.completed == fence) return;
      clocks += step;
      step = u32(std::clamp<u64>(clocks / 16, kLaunchClocks, 4096));
      const Clock time = now();
      if (seen.consumed != consumed) {
        consumed = seen.consumed;
        moved = scanned = time;
      } else if (time - scanned > std::min<Clock>(kScanInterval, deadline_ / 4)) {
        scanned = time;
        const u64 signs = signs_of_life(batch, seen);
        if (signs != life) moved = time;
        life = signs;
        if (time - moved > deadline_) give_up(batch, seen);
      }
      if (!chip_.simulated() && time - moved > 1ms) std::this_thread::sleep_for(20us);
    }
  } catch (const SimFault& fault) {
    throw SimFault(fmt::format("{}, in or after {}", fault.what(), launch_name(batch, seen)), fault.kind);
  }
}

}  // namespace baretile
