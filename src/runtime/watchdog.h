// Waits for the dispatch tile, and finds out who stands still when it does not come.
#pragma once
#include "baretile/isa/mmio.h"
#include "baretile/runtime.h"
#include "debug/report.h"
#include "firmware/loader.h"

namespace baretile {

// A batch of launches on its way: what is needed to say which one does not end.
struct Batch {
  struct Item {
    const Launch* launch = nullptr;
    const KernelImage* kernel = nullptr;
    u32 address = 0;  // of the kernel in L1
  };
  std::vector<abi::QueueRecord> records;  // launches, then one fence
  std::vector<Item> items;                // the launches
  u32 first_record = 0;                   // number of records written before it
  u32 first_sequence = 0;                 // sequence of its first launch
  size_t first_launch = 0, launches = 0;  // its number in the program, and how many that has
};

class Watchdog {
 public:
  Watchdog(Chip& chip, const firmware::Grid& grid, const RuntimeOptions& options);

  // Until the batch's fence has passed. DeviceError when a kernel's assertion fails or nothing moves for the deadline.
  void wait(const Batch& batch);

 private:
  using Clock = std::chrono::nanoseconds;
  Clock now() const;
  abi::QueueControl control();
  abi::Mailbox mailbox(u32 tile);
  u64 signs_of_life(const abi::QueueControl& control);
  debug::Running running(const Batch& batch, const abi::QueueControl& control);
  void show_prints(const debug::Running& launch, bool ended = true);

  Chip& chip_;
  const firmware::Grid& grid_;
  std::chrono::milliseconds deadline_;
  std::function<void(const std::string&)> print_;
  debug::KernelSymbols symbols_;
  std::vector<u32> shown_ = std::vector<u32>(grid_.workers() * isa::kCores);  // bytes of each core's log
};

}  // namespace baretile
