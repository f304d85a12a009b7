// NoC interface unit (NIU) registers of a tile and the request encodings this project uses. Freestanding.
// src: tt-isa-documentation BlackholeA0/NoC/{MemoryMap,Counters,Atomics}.md; each request form ran on ttsim v1.10 on both NoCs.
#pragma once
#include "baretile/bits.h"

namespace baretile::isa {

inline constexpr u32 kNiuBase = 0xFFB20000, kNiuStride = 0x10000;  // NoC 0, NoC 1
inline constexpr u32 kNiuCommandBuffers = 4, kNiuCommandStride = 0x800;

enum NiuReg : u32 {  // + kNiuCommandStride * command buffer
  kNiuTargLo = 0x00,
  kNiuTargMid = 0x04,
  kNiuTargCoord = 0x08,
  kNiuRetLo = 0x0C,
  kNiuRetMid = 0x10,
  kNiuRetCoord = 0x14,
  kNiuTag = 0x18,
  kNiuCtrl = 0x1C,
  kNiuLen = 0x20,
  kNiuLen2 = 0x24,
  kNiuData = 0x28,
  kNiuExclude = 0x2C,
  kNiuCmd = 0x40,  // write 1 to go; bit 0 reads busy
  kNiuNodeId = 0x44,     // raw x | y<<6 | width<<12 | height<<19
  kNiuLogicalId = 0x148,  // translated x | y<<6
};

enum NiuCounter : u32 {
  kNiuAtomicAcks = 0x200,
  kNiuWriteAcks = 0x204,
  kNiuReadAcks = 0x208,
  kNiuPostedAtomicsSent = 0x21C,
  kNiuWritesSent = 0x228,
  kNiuPostedWritesSent = 0x22C,
  kNiuOutstanding = 0x240,  // + 4 * transaction id: reads and acknowledged writes still under way
};

enum NocCtrl : u32 {
  kNocRead = 0x10,
  kNocWrite = 0x12,            // acknowledged
  kNocWritePosted = 0x02,
  kNocWriteInline = 0x1A,      // 4 bytes from kNiuData, registers only: into L1 it is a hardware bug
  kNocAtomic = 0x11,
  kNocAtomicPosted = 0x01,
  kNocMulticast = 0x132,       // acknowledged write to a rectangle; the sender is left out unless kNocIncludeSelf
  kNocIncludeSelf = 0x20000,
};
inline constexpr u32 kNocAtomicIncrement32 = 0x107C;  // kNiuLen of a 32-bit fetch-and-add

inline constexpr u32 kNocMaxPacket = 16384;
inline constexpr u32 kNocAlign = 16;      // source and destination agree modulo this
inline constexpr u32 kNocDramAlign = 64;  // for reads from DRAM into L1

constexpr u32 noc_coord(u32 x, u32 y) { return x | y << 6; }
// Multicast rectangle on NoC 0: (x0, y0) the low corner. On NoC 1 the corners swap.
constexpr u32 noc_rect(u32 x0, u32 y0, u32 x1, u32 y1) { return noc_coord(x1, y1) | noc_coord(x0, y0) << 12; }

}  // namespace baretile::isa
