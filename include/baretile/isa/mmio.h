// Addresses inside a Tensix tile, as its cores see them; those marked (NoC) are reachable from the host and other tiles too. Freestanding.
// src: tt-isa-documentation BlackholeA0/TensixTile/{BabyRISCV/README,SoftReset,DebugTimestamper}.md; reached on ttsim v1.10.
#pragma once
#include "baretile/bits.h"

namespace baretile::isa {

inline constexpr u32 kL1Bytes = 1536 * 1024;  // at address 0 (NoC)

inline constexpr u32 kLocalRam = 0xFFB00000;  // a core's own: 8 KiB on BRISC and NCRISC, 4 KiB on the TRISCs
inline constexpr u32 kLocalRamBytesBrisc = 8192, kLocalRamBytesTrisc = 4096;

// Debug registers (NoC)
inline constexpr u32 kSoftReset = 0xFFB121B0;
inline constexpr u32 kWallClockLo = 0xFFB121F0, kWallClockHi = 0xFFB121F8;
inline constexpr u32 kTriscResetPc = 0xFFB12228;  // + 4 * thread
inline constexpr u32 kTriscResetPcOverride = 0xFFB12234;
inline constexpr u32 kNcriscResetPc = 0xFFB12238, kNcriscResetPcOverride = 0xFFB1223C;

enum SoftResetBit : u32 {
  kHoldBrisc = 1u << 11,
  kHoldTrisc0 = 1u << 12,
  kHoldTrisc1 = 1u << 13,
  kHoldTrisc2 = 1u << 14,
  kHoldNcrisc = 1u << 18,
  kHoldAll = kHoldBrisc | kHoldTrisc0 | kHoldTrisc1 | kHoldTrisc2 | kHoldNcrisc,
};

inline constexpr u32 kMopConfig = 0xFFB80000;  // 9 words, the reading TRISC's own
inline constexpr u32 kGpr = 0xFFE00000;        // 64 words a thread
inline constexpr u32 kPushInsn = 0xFFE40000;   // + 0x10000 * thread from BRISC
inline constexpr u32 kPcBufDrain = 0xFFE80004;     // a read waits until the thread's Tensix instructions are done
inline constexpr u32 kPcBufDrainMop = 0xFFE80008;  // a read waits for the MOP expander
inline constexpr u32 kPcBufSemaphore = 0xFFE80020;  // + 4 * semaphore: read the value, write 0 posts, 1 gets
inline constexpr u32 kMailbox = 0xFFEC0000;    // + 0x1000 * core (0 BRISC, 1-3 TRISC0-2)
inline constexpr u32 kConfig = 0xFFEF0000;     // + 4 * word, bank 0

// The five cores in the order every table of this project uses.
enum class Core : u8 { brisc, ncrisc, trisc0, trisc1, trisc2 };
inline constexpr u32 kCores = 5;

}  // namespace baretile::isa
