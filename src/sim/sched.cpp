#include "sim/sched.h"

#include <algorithm>
#include <tuple>

#include "sim/rv32/exec.h"
#include "sim/tile/tile.h"

namespace baretile::sim {

Scheduler::Scheduler(u32 threads)
    : pool_(threads, [this](u32 k) {
        Tile& tile = *queue_[first_apart_ + k];
        try {
          run_tile(tile);
        } catch (...) {
          tile.problem = std::current_exception();
        }
      }) {}

const Core* Scheduler::current() const { return current_tile_ ? current_tile_->running : nullptr; }

u64 Scheduler::clock() const {
  const Core* core = current();
  return core ? core->clock() : now_;
}

void Scheduler::activate(Tile& tile) {
  if (tile.queued) return;
  tile.queued = true;
  queue_.push_back(&tile);
}

void Scheduler::advance(u64 clocks) {
  const u64 end = now_ + clocks;
  while (now_ < end && !queue_.empty()) {
    limit_ = std::min(now_ + kQuantum, end);
    run_quantum();
    queue_.swap(next_);
    next_.clear();
    for (Tile* tile : queue_) {
      tile->queued = true;
      tile->runs_on = false;
    }
    now_ = limit_;
  }
  now_ = std::max(now_, end);
}

void Scheduler::run_quantum() {
  for (size_t k = 0; k < queue_.size();) {  // grows while tiles wake each other
    if (const size_t left = queue_.size() - k; left >= kApart) {
      run_apart(k);
      k += left;
      continue;
    }
    current_tile_ = queue_[k];
    run_tile(*current_tile_);
    retire(*current_tile_);
    current_tile_ = nullptr;
    ++k;
  }
}

void Scheduler::run_apart(size_t first) {
  const size_t end = queue_.size();
  first_apart_ = first;
  limit_ = std::max(limit_, now_ + kQuantumApart);
  apart_ = true;
  pool_.run(u32(end - first));
  apart_ = false;
  for (size_t k = first; k < end; ++k) {
    if (!queue_[k]->problem) continue;
    current_tile_ = queue_[k];  // the first one's, whoever met it first
    std::rethrow_exception(queue_[k]->problem);
  }
  turns_.clear();
  for (size_t k = first; k < end; ++k) {
    Tile& tile = *queue_[k];
    retire(tile);
    for (u32 c = 0; c < isa::kCores; ++c)
      if (tile.core(c).waits_for_turn()) turns_.push_back(&tile.core(c));
  }
  take_turns();
}

void Scheduler::take_turns() {
  const auto place = [](const Core* core) { return std::make_tuple(core->time, core->tile->index(), core->id); };
  std::sort(turns_.begin(), turns_.end(), [&](const Core* a, const Core* b) { return place(a) < place(b); });
  for (Core* core : turns_) {
    if (!core->waits_for_turn()) continue;  // an earlier one reset it
    current_tile_ = core->tile;
    core->state = CoreState::running;
    run_core(*core, core->time + 1);
    activate(*current_tile_);
    current_tile_ = nullptr;
  }
}

void Scheduler::run_tile(Tile& tile) {
  bool again = true;
  while (again) {
    again = tile.wake_cores();
    for (u32 k = 0; k < isa::kCores; ++k) {
      Core& core = tile.core(k);
      if (core.state != CoreState::running || core.time >= limit_) continue;
      run_core(core, limit_);
      again = true;
    }
    again |= tile.run_tensix();
  }
}

void Scheduler::retire(Tile& tile) {
  tile.queued = false;
  if (!tile.has_work() || tile.runs_on) return;
  tile.runs_on = true;
  next_.push_back(&tile);
}

void Scheduler::run_core(Core& core, u64 end) {
  constexpr u32 kMaxBackoff = 1024;
  core.tile->running = &core;
  core.slice_end = end;
  core.left = u32(end - core.time);
  while (core.left != 0 && core.state == CoreState::running) {
    run(core);
    if (!core.spun) continue;
    core.spun = false;
    if (polls(core)) {
      core.tile->start_polling(core);
    } else {
      core.spin_backoff = std::min(core.spin_backoff * 2, kMaxBackoff);
      core.spin_skip = core.spin_backoff;
    }
  }
  core.time = core.clock();
  core.tile->running = nullptr;
}

}  // namespace baretile::sim
