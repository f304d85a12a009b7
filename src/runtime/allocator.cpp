#include "runtime/allocator.h"

#include <fmt/format.h>

namespace baretile {

BankAllocator::BankAllocator(u64 begin, u64 end) { free_[begin] = end - begin; }

u64 BankAllocator::allocate(u64 bytes) {
  const std::lock_guard guard(mutex_);
  const u64 wanted = std::max<u64>(round_up(bytes, abi::kBufferAlign), abi::kBufferAlign);
  u64 total = 0, largest = 0;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const u64 address = range->first, size = range->second;
    total += size;
    largest = std::max(largest, size);
    if (size < wanted) continue;
    free_.erase(range);
    if (size > wanted) free_[address + wanted] = size - wanted;
    used_[address] = wanted;
    return address;
  }
  throw OutOfMemory(
      fmt::format(
          "a buffer of {} bytes per DRAM bank does not fit: {} are free, {} in one piece; free other buffers first",
          wanted, total, largest),
      wanted, total, largest);
}

void BankAllocator::release(u64 address) noexcept {
  const std::lock_guard guard(mutex_);
  auto node = used_.extract(address);
  if (node.empty()) return;
  auto range = free_.insert(std::move(node)).position;
  const auto after = std::next(range);
  if (after != free_.end() && range->first + range->second == after->first) {
    range->second += after->second;
    free_.erase(after);
  }
  if (range == free_.begin()) return;
  const auto before = std::prev(range);
  if (before->first + before->second != range->first) return;
  before->second += range->second;
  free_.erase(range);
}

u64 BankAllocator::free_bytes() const {
  const std::lock_guard guard(mutex_);
  u64 total = 0;
  for (const auto& [address, bytes] : free_) total += bytes;
  return total;
}

}  // namespace baretile
