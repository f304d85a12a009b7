#include "compiler/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "baretile/error.h"

namespace baretile::compiler {

namespace {

// Chips have seven or eight DRAM banks; a place computed for seven holds for both.
constexpr u32 kFewestBanks = 7;

// Free places in the arena of each bank, first fit.
class Arena {
 public:
  u64 take(u64 bytes) {
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      auto [offset, size] = *gap;
      if (size < bytes) continue;
      gaps_.erase(gap);
      if (size > bytes) gaps_[offset + bytes] = size - bytes;
      return offset;
    }
    u64 offset = end_;
    if (!gaps_.empty() && gaps_.rbegin()->first + gaps_.rbegin()->second == end_) {
      offset = gaps_.rbegin()->first;
      gaps_.erase(std::prev(gaps_.end()));
    }
    end_ = offset + bytes;
    return offset;
  }
  void give_back(u64 offset, u64 bytes) {
    auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = gaps_.erase(next);
    }
    if (next != gaps_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
      std::prev(next)->second += bytes;
    } else {
      gaps_[offset] = bytes;
    }
  }
  u64 end() const { return end_; }

 private:
  std::map<u64, u64> gaps_;
  u64 end_ = 0;
};

u64 place_bytes(const BufferDesc& buffer) {
  return round_up(abi::pages_in_bank(buffer.pages, kFewestBanks) * page_bytes(buffer.tiling, buffer.dtype),
                  abi::kBufferAlign);
}

void place_temporaries(Schedule& schedule) {
  std::vector<size_t> last_use(schedule.buffers.size());
  for (size_t i = 0; i < schedule.launches.size(); ++i) {
    for (u32 buffer : schedule.launches[i].buffers) last_use[buffer] = i;
  }
  Arena arena;
  std::vector<bool> placed(schedule.buffers.size());
  for (size_t i = 0; i < schedule.launches.size(); ++i) {
    const auto& used = schedule.launches[i].buffers;
    for (u32 b : used) {
      BufferDesc& buffer = schedule.buffers[b];
      if (buffer.external >= 0 || placed[b]) continue;
      placed[b] = true;
      buffer.arena_offset = arena.take(place_bytes(buffer));
    }
    for (size_t n = 0; n < used.size(); ++n) {
      BufferDesc& buffer = schedule.buffers[used[n]];
      bool again = std::find(used.begin(), used.begin() + i64(n), used[n]) != used.begin() + i64(n);
      if (buffer.external < 0 && last_use[used[n]] == i && !again)
        arena.give_back(buffer.arena_offset, place_bytes(buffer));
    }
  }
  schedule.arena_bytes = arena.end();
}

}  // namespace

// The earliest that is ready first.
std::vector<u32> launch_order(const FusionPlan& plan) {
  const size_t count = plan.kernels.size();
  std::vector<i32> writer(plan.values.size(), -1);
  for (u32 k = 0; k < count; ++k) {
    for (u32 value : plan.kernels[k].writes) writer[value] = i32(k);
  }
  std::vector<std::vector<u32>> next(count);
  std::vector<u32> waits(count);
  auto edge = [&](u32 first, u32 then) {
    next[first].push_back(then);
    ++waits[then];
  };
  for (u32 k = 0; k < count; ++k) {
    for (u32 value : plan.kernels[k].values) {
      if (writer[value] >= 0 && writer[value] != i32(k)) edge(u32(writer[value]), k);
    }
    for (u32 first : plan.kernels[k].after) edge(first, k);
  }
  std::priority_queue<u32, std::vector<u32>, std::greater<>> ready;
  for (u32 k = 0; k < count; ++k) {
    if (waits[k] == 0) ready.push(k);
  }
  std::vector<u32> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (u32 then : next[order.back()]) {
      if (--waits[then] == 0) ready.push(then);
    }
  }
  if (order.size() != count)
    throw InternalError("schedule: the plan's kernels wait for each other in a circle; report this graph.");
  return order;
}

Schedule schedule(const FusionPlan& plan) {
  Schedule out;
  std::vector<i32> buffer_of(plan.values.size(), -1);
  auto buffer = [&](u32 value) {
    u32 root = root_of(plan, value);
    if (buffer_of[root] < 0) {
      buffer_of[root] = i32(out.buffers.size());
      out.buffers.push_back(plan.values[root].desc);
    }
    return u32(buffer_of[root]);
  };
  for (u32 k : launch_order(plan)) {
    const PlannedKernel& kernel = plan.kernels[k];
    const size_t number = size_t(std::find(out.kernels.begin(), out.kernels.end(), kernel.spec) - out.kernels.begin());
    if (number == out.kernels.size()) out.kernels.push_back(kernel.spec);
    Schedule::Item item{u32(number), {}, kernel.spec.name};
    for (u32 value : kernel.values) item.buffers.push_back(buffer(value));
    out.launches.push_back(std::move(item));
  }
  place_temporaries(out);
  return out;
}

}  // namespace baretile::compiler
