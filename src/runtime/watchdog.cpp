#include "runtime/watchdog.h"

#include <fmt/format.h>

#include <ctime>
#include <thread>

#include "baretile/chip.h"

namespace baretile {
namespace {

using namespace std::chrono_literals;

constexpr u32 kLaunchClocks = 100;  // a launch takes no less on ttsim
constexpr auto kScanInterval = 1000ms, kPrintInterval = 100ms;

}  // namespace

Watchdog::Watchdog(Chip& chip, const firmware::Grid& grid, const RuntimeOptions& options)
    : chip_(chip), grid_(grid), deadline_(options.deadline), print_(options.print) {
  if (!print_) print_ = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
}

Watchdog::Clock Watchdog::now() const {
  timespec t{};
  clock_gettime(chip_.simulated() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return std::chrono::seconds(t.tv_sec) + Clock(t.tv_nsec);
}

abi::QueueControl Watchdog::control() {
  abi::QueueControl control{};
  constexpr size_t kPolled = offsetof(abi::QueueControl, failed) + sizeof(control.failed);
  chip_.read(grid_.dispatch(), abi::kQueueControl, std::as_writable_bytes(std::span(&control, 1)).first(kPolled));
  return control;
}

abi::Mailbox Watchdog::mailbox(u32 tile) {
  abi::Mailbox box;
  chip_.read(grid_.tiles[tile], abi::kMailbox, std::as_writable_bytes(std::span(&box, 1)));
  return box;
}

// The launch that dispatch is at.
debug::Running Watchdog::running(const Batch& batch, const abi::QueueControl& control) {
  const size_t index = std::min<size_t>(control.consumed - batch.first_record, batch.items.size() - 1);
  const Batch::Item& item = batch.items[index];
  return {chip_,
          grid_,
          *item.kernel,
          item.address,
          batch.first_sequence + u32(index),
          fmt::format("launch '{}' ({} of {})", item.launch->label, batch.first_launch + index + 1, batch.launches)};
}

// What the kernels printed, if they can; a batch of those is of one launch.
void Watchdog::show_prints(const debug::Running& launch, bool ended) {
  if (!launch.kernel.debug) return;
  for (const std::string& line : debug::take_prints(launch, symbols_, shown_, ended)) print_(line);
}

// A number that changes whenever a core has got anywhere: done, at another waypoint, or a page through a circular
// buffer.
u64 Watchdog::signs_of_life(const abi::QueueControl& control) {
  u64 hash = control.consumed;
  const auto mix = [&](u32 value) { hash = (hash ^ value) * 0x100000001B3u; };
  for (u32 tile = 0; tile < grid_.workers(); ++tile) {
    const abi::Mailbox box = mailbox(tile);
    for (u32 core = 0; core < isa::kCores; ++core) mix(box.core_done[core]), mix(box.waypoints[core]);
    for (const abi::CircularBufferSync& cb : box.cb) mix(cb.pushed), mix(cb.popped);
  }
  return hash;
}

void Watchdog::wait(const Batch& batch) {
  const u32 fence = batch.records.back().value;
  u64 clocks = 0, life = 0;
  u32 consumed = batch.first_record, step = kLaunchClocks * u32(batch.records.size());
  Clock moved = now(), scanned = moved, printed = moved;
  abi::QueueControl seen{};
  seen.consumed = consumed;
  try {
    for (;;) {
      chip_.device().progress(step);
      seen = control();
      if (seen.completed == fence) break;
      if (seen.failed != 0) {
        show_prints(running(batch, seen));
        debug::throw_failure(running(batch, seen), symbols_);
      }
      clocks += step;
      step = u32(std::clamp<u64>(clocks / 16, kLaunchClocks, 4096));
      const Clock time = now();
      if (time - printed > kPrintInterval) {
        show_prints(running(batch, seen), false);
        printed = now();
      }
      if (seen.consumed != consumed) {
        consumed = seen.consumed;
        moved = scanned = time;
      } else if (time - scanned > std::min<Clock>(kScanInterval, deadline_ / 4)) {
        scanned = time;
        const u64 signs = signs_of_life(seen);
        if (signs != life) moved = time;
        life = signs;
        if (time - moved > deadline_) {
          show_prints(running(batch, seen));
          debug::throw_hang(running(batch, seen), deadline_, symbols_);
        }
      }
      if (!chip_.simulated() && time - moved > 1ms) std::this_thread::sleep_for(20us);
    }
    show_prints(running(batch, seen));
  } catch (const SimFault& fault) {
    throw SimFault(fmt::format("{}, in or after {}", fault.what(), running(batch, seen).name), fault.kind);
  }
}

}  // namespace baretile
