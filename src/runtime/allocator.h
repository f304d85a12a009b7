// DRAM of all banks at once: a range is the same in each bank.
#pragma once
#include <map>
#include <mutex>

#include "baretile/runtime.h"

namespace baretile {

class BankAllocator {
 public:
  // Ranges lie in [begin, end) of every bank.
  BankAllocator(u64 begin, u64 end);
  u64 allocate(u64 bytes);  // per bank; first fit; OutOfMemory
  void release(u64 address) noexcept;
  u64 free_bytes() const;

 private:
  mutable std::mutex mutex_;        // a DeviceBuffer may end in any thread
  std::map<u64, u64> free_, used_;  // address to bytes
};

}  // namespace baretile
