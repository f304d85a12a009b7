// Which kernel images lie where in the workers' L1.
#pragma once
#include <list>
#include <map>
#include <optional>
#include <string>

#include "baretile/program.h"

namespace baretile {

// Places go round the arena, so that a new image takes the place of the oldest ones.
class KernelArena {
 public:
  struct Place {
    u32 address = 0;
    bool fresh = false;  // the image is not there yet: write it
  };

  // Empty when there is only room at the cost of an image that was found or placed since the last unpin().
  // UsageError for an image that never fits.
  std::optional<Place> place(const KernelImage& image);
  void unpin();

 private:
  static constexpr u32 kAlign = 64;
  struct Resident {
    std::string key;
    u32 address, bytes;
    bool pinned;
  };
  std::list<Resident> residents_;  // oldest first
  std::map<std::string, std::list<Resident>::iterator> by_key_;
  u32 next_ = abi::kKernelArena;
};

}  // namespace baretile
