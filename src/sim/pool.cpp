#include "sim/pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace baretile::sim {
namespace {

// Loops follow each other within microseconds while the chip is busy; sleeping costs more than that.
u32 wait_for_change(const std::atomic<u32>& word, u32 seen) {
  constexpr u32 kSpins = 1000;
  for (u32 k = 0; k < kSpins; ++k) {
    if (const u32 value = word.load(std::memory_order_acquire); value != seen) return value;
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }
  word.wait(seen, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

}  // namespace

Pool::Pool(u32 threads, std::function<void(u32)> body) : threads_(threads), body_(std::move(body)) {}

Pool::~Pool() {
  if (!workers_) return;
  if (process_ != getpid()) {  // they stayed behind in the parent
    (void)workers_.release();
    return;
  }
  ending_ = true;
  loop_.fetch_add(1, std::memory_order_release);
  loop_.notify_all();
  for (std::thread& worker : *workers_) worker.join();
}

void Pool::start() {
  if (process_ == getpid()) return;
  (void)workers_.release();
  process_ = getpid();
  workers_ = std::make_unique<Workers>();
  sigset_t all, before;  // signals are for the threads of the program that opened this library
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (u32 k = 1; k < threads_; ++k)
    workers_->emplace_back([this, seen = loop_.load(std::memory_order_relaxed)] { follow(seen); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::follow(u32 seen) {
  for (;;) {
    seen = wait_for_change(loop_, seen);
    if (ending_) return;
    work();
  }
}

// A late thread may look at the next loop's ticket already; taking an index from it is as good.
void Pool::work() {
  for (;;) {
    u64 ticket = ticket_.load(std::memory_order_acquire);
    const u32 index = u32(ticket & 0xFFFF), count = u32(ticket >> 16 & 0xFFFF);
    if (index >= count) return;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    body_(index);
    if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) finished_.notify_one();
  }
}

void Pool::run(u32 count) {
  if (threads_ == 1 || count < 2) {
    for (u32 k = 0; k < count; ++k) body_(k);
    return;
  }
  start();
  finished_.store(0, std::memory_order_relaxed);
  const u32 loop = loop_.load(std::memory_order_relaxed) + 1;
  ticket_.store(u64{loop} << 32 | u64{count} << 16, std::memory_order_release);
  loop_.store(loop, std::memory_order_release);
  loop_.notify_all();
  work();
  for (u32 done = finished_.load(std::memory_order_acquire); done != count;) done = wait_for_change(finished_, done);
}

}  // namespace baretile::sim
