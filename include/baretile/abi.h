// The whole contract between host and firmware: what lies where in a tile's L1, and the records they exchange. Freestanding.
#pragma once
#include <stddef.h>

#include "baretile/bits.h"

namespace baretile::abi {

// L1 of every Tensix tile. Everything up to kKernelArena belongs to the firmware.
inline constexpr u32 kFirmwareBase = 0x0;        // BRISC starts at 0; all five cores' images follow
inline constexpr u32 kFirmwareBytes = 0x6000;
inline constexpr u32 kMailbox = 0x6000;          // struct Mailbox
inline constexpr u32 kDebugLog = 0x6480;         // a log a core, by isa::Core
inline constexpr u32 kDebugLogBytes = 0x570;
inline constexpr u32 kKernelArena = 0x8000;      // kernel images, placed by the runtime, shared by all launches of all programs
inline constexpr u32 kKernelArenaBytes = 0x58000;
inline constexpr u32 kData = 0x60000;            // a launch's circular buffers and scratch, laid out by the compiler
inline constexpr u32 kDataBytes = 0x180000 - kData;
inline constexpr u32 kInputRingBytes = 0xE0000, kOutputRingBytes = kDataBytes - kInputRingBytes;  // of a compute kernel, from kData on

inline constexpr u32 kMaxArgs = 48;
inline constexpr u32 kMaxCircularBuffers = 16;
inline constexpr u32 kNoEntry = 0xFFFFFFFF;

inline constexpr u8 kWholeGrid = 0xFF;

enum LaunchFlag : u32 {
  kNewCode = 1,  // the arena was written since the last launch: invalidate the cores' instruction caches first
};

// One launch, multicast to every worker. `sequence` travels in a second multicast after the rest has landed.
struct LaunchRecord {
  u32 workers;           // see takes_part()
  u32 entry[5];          // L1 address of each core's kernel function, by isa::Core; kNoEntry: the core stays parked
  u32 flags;             // of LaunchFlag
  u8 team_rows, team_columns;  // of tiles that share the blocks of a product (kernels/team.h), or kWholeGrid
  u8 reserved[2];
  u32 args[kMaxArgs];
};
static_assert(sizeof(LaunchRecord) == 224 && offsetof(LaunchRecord, args) == 32);

// A circular buffer's two counters in pages, each written by one core only and counted modulo 2^32; both zero at the start of a launch.
struct CircularBufferSync {
  u32 pushed;
  u32 popped;
};

// What the tiles of a team tell each other through the NoC, see kernels/team.h: a word for each of kTeamOperands
// operands of a product and kTeamSteps of its steps, 16 bytes apart as the NoC wants them.
inline constexpr u32 kTeamOperands = 4, kTeamSteps = 3, kTeamWords = kTeamOperands * kTeamSteps;
inline constexpr u32 kTeamAhead = 5;  // slots that NCRISC is ahead of T0
struct TeamWords {
  u32 ready, arrived, reserved[2];
};

// A buffer's pages go round the DRAM banks in runs, mostly of kRunPages, so that neighbours along a row come by one request. Buffers start
// at multiples of kBufferAlign, and the low byte of a buffer's address, as kernels get it, holds the pages of its runs.
inline constexpr u32 kRunPages = 4, kBufferAlign = 256, kMostRunPages = kBufferAlign - 1;

// Pages of a buffer in the bank that has most of them.
constexpr u64 pages_in_bank(u64 pages, u32 banks, u32 run = kRunPages) {
  const u64 round = u64{run} * banks, rest = pages % round;
  return pages / round * run + (rest < run ? rest : run);
}

// Written by the host once at boot: who this tile is and where it finds the DRAM banks.
struct TileInfo {
  u32 logical_index;      // 0 … tiles-1: workers, each beside bank `index % dram_banks`, and last the dispatch tile
  u32 tiles;              // Tensix tiles of the chip
  u32 dispatch_coord;     // NoC coordinate (x | y<<6) of the dispatch tile
  u32 park;               // 1: BRISC holds the other cores in reset between launches (simulators); 0: they wait in firmware (cards)
  u32 dram_banks;
  u32 dram_coord[8];      // of the port that this tile uses
  u32 mcast_rects;        // rectangles that cover all workers
  u32 mcast_rect[4];      // as kNiuRetCoord takes them, for NoC 0
  u32 mcast_tiles[4];     // receivers in each
  u32 row, column;        // in the grid of live tiles, from 0
};
static_assert(sizeof(TileInfo) == 96);

// Whether a tile has part in a launch; the others only acknowledge.
inline bool takes_part(const volatile TileInfo& tile, const volatile LaunchRecord& launch) {
  return tile.logical_index < launch.workers && tile.row < launch.team_rows && tile.column < launch.team_columns;
}

// The firmware prepares this command buffer of NoC 0 at boot for its acknowledgements; kernels use the others.
inline constexpr u32 kFirmwareCommandBuffer = 3;

// What a core is doing, for the watchdog: a four-character code.
constexpr u32 waypoint(const char (&c)[5]) { return u32(c[0]) | u32(c[1]) << 8 | u32(c[2]) << 16 | u32(c[3]) << 24; }

// The debugging state of a core; its tp register points at it. The host sets `next` and `end`, and empties the log between launches.
struct CoreDebug {
  u32 position;          // L1 address of the instruction at which the core last began to wait, or was stopped; 0: none
  u32 next, end;         // where its next record goes, and where none begins any more; see kernels/debug/print.h
  u32 dropped;           // records that found no room
  u32 failed;            // where the record of its failed bt_assert is; 0: none
  u32 reserved[3];
};
inline constexpr u32 kMostRecordBytes = 32;  // of which a log has room for one behind `end`, for a bt_assert

// boot.S: code that stores t6 - 4 as the core's position and stops it, and code that invalidates all instruction caches and stops.
inline constexpr u32 kPositionTrap = 20, kInvalidateCaches = 32;

struct Mailbox {
  LaunchRecord launch;                              // 0x000
  u32 sequence;                                     // 0x0E0  launch number, multicast last; 0 before the first
  u32 reserved0[7];
  TileInfo info;                                    // 0x100
  u32 waypoints[5];                                 // 0x160  by isa::Core
  u32 core_done[5];                                 // 0x174  the launch's sequence when the core has returned from its kernel
  u32 reserved3[6];
  CircularBufferSync cb[kMaxCircularBuffers];       // 0x1A0
  u32 go;                                           // 0x220  park = 0: the sequence that NCRISC and TRISCs may start, set by BRISC
  u32 reserved1[23];
  u32 scratch[8];                                   // 0x280  NoC sources of the firmware's own small writes
  TeamWords team[kTeamWords];                       // 0x2A0  all zero between launches; a kernel leaves them so
  u32 reserved2[8];
  CoreDebug debug[5];                               // 0x380  by isa::Core
};
static_assert(offsetof(Mailbox, sequence) == 0xE0 && offsetof(Mailbox, info) == 0x100 && offsetof(Mailbox, waypoints) == 0x160);
static_assert(offsetof(Mailbox, cb) == 0x1A0 && offsetof(Mailbox, debug) == 0x380 && sizeof(CoreDebug) == 32 && offsetof(Mailbox, team) == 0x2A0);
static_assert(kMailbox + sizeof(Mailbox) <= kDebugLog && kDebugLog + 5 * kDebugLogBytes <= kKernelArena);

// The dispatch tile alone: a ring of queue records in its L1, filled by the host.
inline constexpr u32 kQueue = 0x60000;            // QueueRecord[kQueueRecords]
inline constexpr u32 kQueueRecords = 1024;
inline constexpr u32 kQueueControl = 0xA0000;     // struct QueueControl, behind the ring

enum class QueueOp : u32 { launch = 1, fence = 2, stop = 3 };

struct QueueRecord {
  QueueOp op;
  u32 value;             // fence: what to write to QueueControl::completed
  u32 reserved[6];
  LaunchRecord launch;
};
static_assert(sizeof(QueueRecord) == 256);

struct QueueControl {
  u32 written;           // host: records written since boot (the doorbell), modulo 2^32
  u32 consumed;          // dispatch tile: records done
  u32 completed;         // dispatch tile: value of the last fence passed
  u32 reserved;
  u32 failed;            // cores: atomic increments, one a failed bt_assert; 16-byte aligned as the NoC wants it
  u32 reserved1[3];      // the host polls what is above
  u32 acks;              // workers: atomic increments, one a tile at boot and one a tile and launch; aligned alike
};
static_assert(offsetof(QueueControl, failed) == 16 && offsetof(QueueControl, acks) == 32 && kQueueControl >= kQueue + kQueueRecords * sizeof(QueueRecord));

}  // namespace baretile::abi
