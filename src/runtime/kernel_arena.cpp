#include "runtime/kernel_arena.h"

#include <fmt/format.h>

#include "baretile/error.h"

namespace baretile {

std::optional<KernelArena::Place> KernelArena::place(const KernelImage& image) {
  if (image.key.empty())
    throw UsageError(fmt::format("kernel {} has no key; take images from build_kernels", image.name));
  if (const auto known = by_key_.find(image.key); known != by_key_.end()) {
    known->second->pinned = true;
    return Place{known->second->address, false};
  }
  const u32 bytes = u32(round_up(image.code.size(), kAlign));
  if (image.code.empty() || image.code.size() > abi::kKernelArenaBytes)
    throw UsageError(fmt::format("kernel {} has {} bytes of code; the kernel arena takes 1 to {}", image.name,
                                 image.code.size(), abi::kKernelArenaBytes));
  const u32 address = next_ + bytes <= abi::kKernelArena + abi::kKernelArenaBytes ? next_ : abi::kKernelArena;
  const auto overlaps = [&](const Resident& r) { return r.address < address + bytes && address < r.address + r.bytes; };
  for (const Resident& r : residents_)
    if (r.pinned && overlaps(r)) return std::nullopt;
  for (auto r = residents_.begin(); r != residents_.end();) {
    if (!overlaps(*r)) {
      ++r;
      continue;
    }
    by_key_.erase(r->key);
    r = residents_.erase(r);
  }
  by_key_[image.key] = residents_.insert(residents_.end(), {image.key, address, bytes, true});
  next_ = address + bytes;
  return Place{address, true};
}

void KernelArena::unpin() {
  for (Resident& r : residents_) r.pinned = false;
}

}  // namespace baretile
