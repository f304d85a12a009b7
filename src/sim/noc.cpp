#include "sim/noc.h"

#include <fmt/format.h>

#include <cstring>

#include "baretile/isa/grid.h"
#include "baretile/isa/mmio.h"
#include "sim/chip.h"
#include "sim/fault.h"
#include "sim/tile/tile.h"

namespace baretile::sim {
namespace {

// NOC_CTRL (MemoryMap.md)
enum Ctrl : u32 {
  kTypeBits = 3,
  kRead = 0,
  kAtomic = 1,
  kWrite = 2,
  kByteEnable = 1u << 2,
  kInline = 1u << 3,
  kMarked = 1u << 4,  // wants an acknowledgement
  kBroadcast = 1u << 5,
  kLinked = 1u << 6,
  kVcStatic = 1u << 7,
  kPathReserve = 1u << 8,
  kVc = 7u << 13,
  kIncludeSelf = 1u << 17,
};
constexpr u32 kModelled =
    kTypeBits | kInline | kMarked | kBroadcast | kLinked | kVcStatic | kPathReserve | kVc | kIncludeSelf;

constexpr u32 kNiuCfg0 = 0x100, kRouterCfg1 = 0x108, kRouterCfg3 = 0x110, kOutstanding = 0x240,
              kClearOutstanding = 0x60;
constexpr u32 kTagIdLo = 10, kTagIdBits = 4;

NocXY unpack_xy(u32 coord) { return {extract(coord, 0, 6), extract(coord, 6, 6)}; }
bool is_register(u64 address) { return address >= isa::kL1Bytes; }

void check_length(u32 length) {
  if (length == 0 || length > isa::kNocMaxPacket)
    fault(FaultKind::not_modelled,
          fmt::format("NoC length {}: a request carries 1 to {} bytes", length, isa::kNocMaxPacket));
}

void check_alignment(u64 from, u64 to, u32 unit) {
  if ((from ^ to) % unit != 0)
    fault(FaultKind::undefined_behaviour,
          fmt::format("NoC source {:#x} and destination {:#x} differ modulo {}", from, to, unit));
}

void check_local(u64 address, u32 bytes, const char* what) {
  if (address >= isa::kL1Bytes || bytes > isa::kL1Bytes - address)
    fault(FaultKind::bad_address,
          fmt::format("NoC {} {:#x} + {} bytes is not in the initiator's L1", what, address, bytes));
}

}  // namespace

u32 node_id(u32 noc, NocXY raw) {
  constexpr u32 kXFirst = 1u << 28;  // NoC 0 routes along x first
  const u32 size = isa::kGridWidth << 12 | isa::kGridHeight << 19;
  if (noc == 0) return raw.x | raw.y << 6 | size | kXFirst;
  return (isa::kGridWidth - 1 - raw.x) | (isa::kGridHeight - 1 - raw.y) << 6 | size;
}

u32 Niu::read(u32 offset) const {
  const u32 initiator = offset / isa::kNiuCommandStride, reg = offset % isa::kNiuCommandStride;
  if (initiator < isa::kNiuCommandBuffers && reg < isa::kNiuExclude && reg % 4 == 0 && reg != isa::kNiuLen2)
    return regs_[initiator][reg / 4];
  if (initiator < isa::kNiuCommandBuffers && reg == isa::kNiuCmd) return 0;  // never busy
  switch (offset) {
    case isa::kNiuNodeId:
      return node_id(noc_, raw_);
    case isa::kNiuLogicalId:
      return isa::noc_coord(translated_.x, translated_.y);
    case kNiuCfg0:  // what ttsim v1.10 answers: translation shown off, broadcasts opted out of columns 0, 8, 9 and rows
                    // 0, 1
    case kNiuCfg0 + 4:
    case kNiuCfg0 + 12:
      return 0;
    case kRouterCfg1:
      return 0x301;
    case kRouterCfg3:
      return 3;
    case isa::kNiuAtomicAcks:
    case isa::kNiuWriteAcks:
    case isa::kNiuReadAcks:
    case isa::kNiuPostedAtomicsSent:
    case isa::kNiuWritesSent:
    case isa::kNiuPostedWritesSent:
      return counters_[(offset - isa::kNiuAtomicAcks) / 4];
    default:
      break;
  }
  if (offset >= kOutstanding && offset < kOutstanding + 64 && offset % 4 == 0)
    return outstanding_[(offset - kOutstanding) / 4];
  constexpr u32 kOutgoing = kOutstanding + 64;  // writes that have not left: none
  if (offset >= kOutgoing && offset < kOutgoing + 64 && offset % 4 == 0) return 0;
  fault(FaultKind::not_modelled, fmt::format("read of NIU register {:#x}", offset));
}

void Niu::write(Chip& chip, Tile& tile, u32 offset, u32 value) {
  const u32 initiator = offset / isa::kNiuCommandStride, reg = offset % isa::kNiuCommandStride;
  if (offset == kClearOutstanding) {
    if (value != 0xFFFF)
      fault(FaultKind::not_modelled, fmt::format("clearing the outstanding counters of ids {:#x}: all 16 only", value));
    outstanding_.fill(0);
    return;
  }
  if (initiator >= isa::kNiuCommandBuffers || reg % 4 != 0 || reg == isa::kNiuLen2 ||
      (reg > isa::kNiuExclude && reg != isa::kNiuCmd))
    fault(FaultKind::not_modelled, fmt::format("write of NIU register {:#x}", offset));
  if (reg == isa::kNiuTag && value & ~(mask_bits(kTagIdBits) << kTagIdLo))
    fault(FaultKind::not_modelled, fmt::format("NOC_PACKET_TAG {:#x}: only the transaction id, bits 13:10", value));
  if (reg == isa::kNiuExclude && value != 0)
    fault(FaultKind::not_modelled, fmt::format("NOC_BRCST_EXCLUDE {:#x}", value));
  if (reg != isa::kNiuCmd) {
    regs_[initiator][reg / 4] = value;
    return;
  }
  if (value != 1)
    fault(FaultKind::undefined_behaviour, fmt::format("NOC_CMD_CTRL {:#x}: write 1 to issue a request", value));
  const Request r = request(initiator);
  check(r);
  issue(chip, tile, r);
}

bool Niu::leaves_tile(const Chip& chip, const Tile& tile, u32 offset) const {
  const u32 initiator = offset / isa::kNiuCommandStride, reg = offset % isa::kNiuCommandStride;
  if (initiator >= isa::kNiuCommandBuffers || reg != isa::kNiuCmd) return false;
  const Request r = request(initiator);
  const bool plain_write = (r.ctrl & (kTypeBits | kInline)) == kWrite;
  const Endpoint to = chip.find(unpack_xy(plain_write ? r.ret_xy : r.targ_xy));
  const bool own = to.place == Place::tensix && to.index == tile.index();
  return r.ctrl & kBroadcast || (to.place != Place::dram && !own);
}

Niu::Request Niu::request(u32 initiator) const {
  const auto reg = [&](isa::NiuReg name) { return regs_[initiator][name / 4]; };
  return {.targ = reg(isa::kNiuTargLo) | u64{reg(isa::kNiuTargMid)} << 32,
          .ret = reg(isa::kNiuRetLo) | u64{reg(isa::kNiuRetMid)} << 32,
          .targ_xy = reg(isa::kNiuTargCoord),
          .ret_xy = reg(isa::kNiuRetCoord),
          .id = extract(reg(isa::kNiuTag), kTagIdLo, kTagIdBits),
          .ctrl = reg(isa::kNiuCtrl),
          .length = reg(isa::kNiuLen),
          .data = reg(isa::kNiuData)};
}

void Niu::check(const Request& r) const {
  const bool broadcast = r.ctrl & kBroadcast;
  if (r.ctrl & ~kModelled || (r.ctrl & kTypeBits) == 3)
    fault(FaultKind::not_modelled, fmt::format("NOC_CTRL {:#x}: bits other than {:#x}", r.ctrl, kModelled));
  if (broadcast != bool(r.ctrl & kPathReserve))
    fault(FaultKind::not_modelled,
          fmt::format("NOC_CTRL {:#x}: path reserve (bit 8) belongs to every multicast, and to nothing else", r.ctrl));
  if (!broadcast && r.ctrl & kIncludeSelf)
    fault(FaultKind::not_modelled, fmt::format("NOC_CTRL {:#x}: source include (bit 17) without multicast", r.ctrl));
  const bool plain_write = (r.ctrl & (kTypeBits | kInline)) == kWrite;
  if (broadcast && !plain_write)
    fault(FaultKind::not_modelled, fmt::format("NOC_CTRL {:#x}: multicast of anything but a write", r.ctrl));
  if ((r.ctrl & kTypeBits) == kRead && (!(r.ctrl & kMarked) || r.ctrl & kInline))
    fault(FaultKind::undefined_behaviour,
          fmt::format("NOC_CTRL {:#x}: a read is marked (bit 4) and not inline", r.ctrl));
  const u32 own = isa::noc_coord(translated_.x, translated_.y), local = plain_write ? r.targ_xy : r.ret_xy;
  if (local != own)
    fault(
        FaultKind::not_modelled,
        fmt::format("NoC request whose own side is at {:#x}: set it to the initiator's coordinate {:#x} (NIU + 0x148)",
                    local, own));
  if (!broadcast && (plain_write ? r.ret_xy : r.targ_xy) >> 12)
    fault(FaultKind::reserved_bits,
          fmt::format("NoC coordinate {:#x}: 12 bits, x | y << 6", plain_write ? r.ret_xy : r.targ_xy));
}

void Niu::issue(Chip& chip, Tile& tile, const Request& r) {
  switch (r.ctrl & kTypeBits) {
    case kRead:
      return read_remote(chip, tile, r);
    case kAtomic:
      return atomic(chip, tile, r);
    default:
      break;
  }
  if (r.ctrl & kInline) return write_inline(chip, r);
  return r.ctrl & kBroadcast ? multicast(chip, tile, r) : write_remote(chip, tile, r);
}

void Niu::read_remote(Chip& chip, Tile& tile, const Request& r) {
  const Endpoint from = chip.at(unpack_xy(r.targ_xy));
  check_length(r.length);
  check_local(r.ret, r.length, "read destination");
  if (from.place == Place::dram)
    check_alignment(r.targ, r.ret, isa::kNocDramAlign);
  else if (from.place == Place::tensix)
    check_alignment(r.targ, r.ret, is_register(r.targ) ? 4 : isa::kNocAlign);
  if (const u8* source = chip.memory(from, r.targ, r.length))
    tile.write(r.ret, source, r.length);
  else {
    chip.read(from, r.targ, tile.l1() + r.ret, r.length);
    tile.l1_written(u32(r.ret), r.length);
  }
  ++counter(isa::kNiuReadAcks);
}

void Niu::write_remote(Chip& chip, Tile& tile, const Request& r) {
  const Endpoint to = chip.at(unpack_xy(r.ret_xy));
  check_length(r.length);
  check_local(r.targ, r.length, "write source");
  check_alignment(r.targ, r.ret, isa::kNocAlign);
  chip.write(to, r.ret, tile.l1() + r.targ, r.length);
  count_write(r, 1);
}

void Niu::write_inline(Chip& chip, const Request& r) {
  const Endpoint to = chip.at(unpack_xy(r.targ_xy));
  if (to.place != Place::tensix) fault(FaultKind::not_modelled, "inline NoC write to another place than a Tensix tile");
  if (!is_register(r.targ))
    fault(FaultKind::undefined_behaviour,
          fmt::format("inline NoC write to L1 {:#x}: a hardware bug on Blackhole makes it unsafe", r.targ));
  chip.write(to, r.targ, &r.data, 4);
  count_write(r, 1);
}

void Niu::multicast(Chip& chip, Tile& tile, const Request& r) {
  check_length(r.length);
  check_local(r.targ, r.length, "multicast source");
  check_alignment(r.targ, r.ret, isa::kNocAlign);
  NocXY end = unpack_xy(r.ret_xy), start = unpack_xy(r.ret_xy >> 12);
  if (noc_ == 1) std::swap(start, end);  // NoC 1 runs the other way
  const auto in_grid = [](NocXY xy) { return xy.x < isa::kGridWidth && xy.y < isa::kGridHeight; };
  if (r.ret_xy >> 24 || !in_grid(start) || !in_grid(end) || start.x > end.x || start.y > end.y)
    fault(FaultKind::not_modelled,
          fmt::format("multicast rectangle {:#x} on NoC {}: corners are Tensix coordinates, first <= last", r.ret_xy,
                      noc_));
  u32 receivers = 0;
  for (u32 index : chip.tiles_in({start, end})) {
    if (index == tile.index() && !(r.ctrl & kIncludeSelf)) continue;
    chip.tile(index).write(r.ret, tile.l1() + r.targ, r.length);
    ++receivers;
  }
  count_write(r, receivers);
}

void Niu::count_write(const Request& r, u32 acks) {
  if (!(r.ctrl & kMarked)) {
    ++counter(isa::kNiuPostedWritesSent);
    return;
  }
  ++counter(isa::kNiuWritesSent);
  counter(isa::kNiuWriteAcks) += acks;
  outstanding_[r.id] = u8(outstanding_[r.id] + 1 - acks);  // one up at issue, one down for every acknowledgement
}

void Niu::atomic(Chip& chip, Tile& tile, const Request& r) {
  const Endpoint to = chip.at(unpack_xy(r.targ_xy));
  if (r.length != isa::kNocAtomicIncrement32)
    fault(FaultKind::not_modelled,
          fmt::format("NoC atomic {:#x}: only the 32-bit increment {:#x}", r.length, isa::kNocAtomicIncrement32));
  if (to.place != Place::tensix || is_register(r.targ))
    fault(FaultKind::undefined_behaviour, fmt::format("NoC atomic at {:#x}: only the L1 of a Tensix tile", r.targ));
  if (r.targ % isa::kNocAlign != 0 || r.ret % 4 != 0)
    fault(FaultKind::not_modelled,
          fmt::format("NoC atomic at {:#x}, answer to {:#x}: aligned to 16 and 4 bytes only", r.targ, r.ret));
  u32 old;
  chip.read(to, r.targ, &old, 4);
  const u32 sum = old + r.data;
  chip.write(to, r.targ, &sum, 4);
  check_local(r.ret, 4, "atomic answer");
  tile.write(r.ret, &old, 4);  // posted ones too, as on ttsim v1.10; on silicon those send no answer
  ++counter(r.ctrl & kMarked ? isa::kNiuAtomicAcks : isa::kNiuPostedAtomicsSent);
}

}  // namespace baretile::sim
