// Host threads that share out the indices of a loop: they start with the first loop, sleep between loops, and a forked
// child starts its own.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "baretile/bits.h"

namespace baretile::sim {

class Pool {
 public:
  Pool(u32 threads, std::function<void(u32)> body);  // the caller is one of the threads; `body` must not throw
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run(u32 count);  // body(0) … body(count - 1), each once, in any order and side by side; count < 65536

 private:
  using Workers = std::vector<std::thread>;
  void start();
  void work();
  void follow(u32 seen);

  const u32 threads_;
  const std::function<void(u32)> body_;
  std::unique_ptr<Workers> workers_;
  int process_ = 0;               // whose threads they are
  std::atomic<u64> ticket_{0};    // loop number << 32 | count << 16 | next index
  std::atomic<u32> loop_{0};      // what the threads wait for to change
  std::atomic<u32> finished_{0};  // indices done
  std::atomic<bool> ending_{false};
};

}  // namespace baretile::sim
