// One Tensix tile: L1, five cores, two NIUs, the debug registers and mailboxes, and the coprocessor behind them.
// The scheduler runs it; the NoC and the host reach it through read() and write().
#pragma once
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sim/noc.h"
#include "sim/rv32/decode.h"
#include "sim/tensix/coprocessor.h"
#include "sim/tile/core.h"

namespace baretile::sim {

class Chip;
class Scheduler;

struct TileMemory {
  u8* l1;         // isa::kL1Bytes
  u8* local_ram;  // kLocalRamBytes
};
inline constexpr u32 kLocalRamBytes = 2 * isa::kLocalRamBytesBrisc + 3 * isa::kLocalRamBytesTrisc;

class Tile {
 public:
  Tile(Chip& chip, u32 index, NocXY raw, NocXY translated, TileMemory memory);

  u32 index() const { return index_; }
  NocXY translated() const { return translated_; }
  u8* l1() const { return l1_; }
  Core& core(u32 index) { return cores_[index]; }
  std::span<const Core, isa::kCores> cores() const { return cores_; }
  Coprocessor& tensix();

  // What the NoC and the host see. Registers take aligned words only.
  void read(u64 address, void* out, u32 bytes);
  void write(u64 address, const void* data, u32 bytes);
  // Plain memory behind a range, or nullptr when it is registers.
  u8* memory(u64 address, u32 bytes) const;

  // For cores. False: the core must wait, and its state says for what.
  bool load(Core& core, u32 address, u32 bytes, u32& value);
  bool store(Core& core, u32 address, u32 bytes, u32 value);
  bool push(Core& core, u32 thread, u32 word);
  // Whether a load has no effect and its value changes only when something happens in this tile.
  bool may_watch(const Core& core, u32 address) const;

  Insn* code_page(u32 page);
  bool store_has_effects(u32 address) const { return page_flags_[address / kPageBytes] != 0; }
  void l1_written(u32 address, u32 bytes);  // after any write to L1: forgets decoded code, looks after sleeping cores

  // For the scheduler.
  void start_polling(Core& core);  // core.polled holds what it reads
  bool wake_cores();               // true if any core runs again
  bool run_tensix();               // true if there was something to run
  bool has_work() const;
  void stir();  // something changed that a sleeping core may wait for
  bool queued = false, runs_on = false;
  Core* running = nullptr;
  std::exception_ptr problem;  // what ended it while tiles ran apart

  std::string describe(const Core& core);  // "trisc1 pc 0x6010 waits for …"

 private:
  static constexpr u32 kPages = isa::kL1Bytes / kPageBytes;
  enum PageFlag : u8 { kHasCode = 1, kIsWatched = 2 };

  u64 clock() const;                    // of whoever acts on the tile
  bool leaves_tile(u32 address) const;  // a store there acts on more than this tile and DRAM
  u32 read_register(u32 address);
  void write_register(u32 address, u32 value);
  u32 read_debug(u32 address);
  void write_debug(u32 address, u32 value);
  void set_soft_reset(u32 value);
  void release(Core& core);
  u32 reset_pc(isa::Core core) const;

  bool load_core_register(Core& core, u32 address, u32& value);
  bool store_core_register(Core& core, u32 address, u32 value);
  bool read_pc_buffer(Core& core, u32 offset, u32& value);
  void write_pc_buffer(const Core& core, u32 offset, u32 value);
  bool read_mailbox(Core& core, u32 address, u32& value);
  bool write_mailbox(Core& core, u32 address, u32 value);
  std::optional<u32>& mailbox(u32 from, u32 to) { return mailboxes_[from * 4 + to]; }
  bool wait(Core& core, Wait what, u32 index);
  bool can_go_on(Core& core);

  Chip& chip_;
  Scheduler& scheduler_;
  u32 index_;
  NocXY translated_;
  u8* l1_;
  std::array<u8, kPages> page_flags_{};
  std::array<std::unique_ptr<CodePage>, kPages> code_;
  std::array<Core, isa::kCores> cores_{};
  std::array<Niu, 2> nius_;
  std::unique_ptr<Coprocessor> tensix_;  // made when something first touches it
  bool tensix_pending_ = false;
  bool stirred_ = false, watching_ = false;
  u64 stir_time_ = 0;
  u32 soft_reset_ = isa::kHoldAll;
  std::array<u32, 3> trisc_pc_{};
  u32 trisc_pc_override_ = 0, ncrisc_pc_ = 0, ncrisc_pc_override_ = 0;
  u32 wall_clock_hi_ = 0;
  u32 debug_array_cmd_ = 0;
  std::array<std::optional<u32>, 16> mailboxes_;  // from * 4 + to, of brisc and the three TRISCs
  std::array<std::array<u32, 3>, 64> stream_scratch_{};
};

}  // namespace baretile::sim
