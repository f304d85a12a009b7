// The Tensix coprocessor of one tile: three instruction FIFOs in front of the shared units
// (TensixCoprocessor/README.md).
//   Coprocessor tensix{l1}; tensix.push(1, word); tensix.run(); if (!tensix.idle(1)) … tensix.describe(1) …
#pragma once
#include <memory>
#include <string>

#include "baretile/bits.h"

namespace baretile::sim {

struct TensixUnits;  // units.h: everything behind the interface

// STOREREG's store to a tile register (0xFFB40000 … 0xFFB7FFFF, the overlay).
using RegisterStore = void (*)(void* context, u32 addr, u32 value);

class Coprocessor {
 public:
  explicit Coprocessor(u8* l1);  // 1.5 MiB, aligned to 64
  ~Coprocessor();
  Coprocessor(const Coprocessor&) = delete;
  Coprocessor& operator=(const Coprocessor&) = delete;

  bool can_push(
      u32 thread) const;  // room in the thread's FIFO; a full FIFO makes the pushing core wait, it is never an error
  void push(u32 thread, u32 word);  // a plain Tensix word (a .ttinsn rotated back)
  bool idle(u32 thread) const;      // everything the thread pushed has executed: what a read of 0xFFE80004 waits for
  bool mop_idle(u32 thread) const;  // the MOP expander has nothing left to hand on: 0xFFE80008

  u32 config_read(u32 word) const;
  void config_write(u32 word, u32 value);
  u32 gpr_read(u32 thread, u32 index) const;
  void gpr_write(u32 thread, u32 index, u32 value);
  void mop_config_write(u32 thread, u32 index, u32 value);
  u32 semaphore_value(u32 sem) const;
  void semaphore_post(u32 sem);
  void semaphore_get(u32 sem);
  void set_register_store(RegisterStore, void* context);  // without one STOREREG is a fault

  bool run();  // executes every thread's instructions in turn until none can progress; true if anything executed
  std::string describe(u32 thread) const;  // what the thread waits for, for error messages

  TensixUnits& units() { return *units_; }  // for tests and detectors

 private:
  std::unique_ptr<TensixUnits> units_;
};

}  // namespace baretile::sim
