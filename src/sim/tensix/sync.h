// Semaphores, mutexes, and who may use which bank of SrcA and SrcB (SyncUnit.md, SrcASrcB.md, STALLWAIT.md).
#pragma once
#include <string>

#include "baretile/isa/isa.h"

namespace baretile::sim {

// One of SrcA, SrcB: a bank belongs to the matrix unit while it is valid, otherwise to the unpacker.
struct SrcSide {
  bool valid[2] = {};
  u32 unpack_bank = 0, matrix_bank = 0;
  bool ready() const { return valid[matrix_bank]; }      // the matrix unit may read
  bool writable() const { return !valid[unpack_bank]; }  // the unpacker may write
  void give_to_matrix() {
    valid[unpack_bank] = true;
    unpack_bank ^= 1;
  }
};

struct Sync {
  struct Semaphore {
    u32 value = 0, max = 0;
  };
  Semaphore semaphore[8];
  int mutex_holder = -1;  // of mutex 0, the only one modelled
  SrcSide src[2];         // SrcA, SrcB

  void post(u32 sem);  // as SEMPOST; a core's store does not check the maximum
  void get(u32 sem);
};

// True once the condition holds; until then the thread stays where it is (as ttsim: whatever the block mask says).
bool execute(Sync&, const isa::STALLWAIT&);
bool execute(Sync&, const isa::SEMWAIT&);
void execute(Sync&, const isa::SEMINIT&);
void execute(Sync&, const isa::SEMPOST&);
void execute(Sync&, const isa::SEMGET&);
bool execute(Sync&, u32 thread, const isa::ATGETM&);
void execute(Sync&, u32 thread, const isa::ATRELM&);

// The matrix unit gives its banks back: bit 0 SrcA, bit 1 SrcB; `keep` bits flip the bank but leave it valid
// (CLR_DVALID_Src?_Disable).
void release_src(Sync&, u32 sides, u32 keep);

std::string describe_wait(const Sync&, u32 word);  // of a word that has not executed yet

}  // namespace baretile::sim
