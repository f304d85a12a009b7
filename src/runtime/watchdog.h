// Waits for the dispatch tile, and finds out who stands still when it does not come.
#pragma once
#include "baretile/runtime.h"
#include "firmware/loader.h"

namespace baretile {

// A batch of launches on its way: what is needed to say which one does not end.
struct Batch {
  std::vector<abi::QueueRecord> records;   // launches, then one fence
  std::vector<const std::string*> labels;  // of the launches
  u32 first_record = 0;                    // number of records written before it
  u32 first_sequence = 0;                  // sequence of its first launch
};

class Watchdog {
 public:
  Watchdog(Chip& chip, const firmware::Grid& grid, std::chrono::milliseconds deadline);

  // Until the batch's fence has passed. DeviceError when a kernel's assertion fails or nothing moves for the deadline.
  void wait(const Batch& batch);

 private:
  using Clock = std::chrono::nanoseconds;
  Clock now() const;
  abi::QueueControl control();
  abi::Mailbox mailbox(u32 tile);
  u64 signs_of_life(const Batch& batch, const abi::QueueControl& control);
  [[noreturn]] void give_up(const Batch& batch, const abi::QueueControl& control);
  [[noreturn]] void fail_assertion(const Batch& batch, const abi::QueueControl& control, u32 tile,
                                   const abi::Mailbox& box);
  std::string launch_name(const Batch& batch, const abi::QueueControl& control) const;

  Chip& chip_;
  const firmware::Grid& grid_;
  std::chrono::milliseconds deadline_;
};

}  // namespace baretile
