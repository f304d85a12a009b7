// BRISC of the dispatch tile: takes records from the ring that the host fills and has all workers run them, one launch
// at a time.
#include "device.h"

namespace baretile::firmware {
namespace {

constexpr u32 kBrisc = u32(isa::Core::brisc);
constexpr u32 kRecordBuffer = 0, kSequenceBuffer = 1;  // command buffers, each with its destination prepared
constexpr u32 kSequenceSource = abi::kMailbox + offsetof(abi::Mailbox, scratch);
static_assert(kSequenceSource % isa::kNocAlign == 0 &&
              (abi::kMailbox + offsetof(abi::Mailbox, sequence)) % isa::kNocAlign == 0);

volatile abi::QueueRecord& record(u32 index) {
  return reinterpret_cast<volatile abi::QueueRecord*>(abi::kQueue)[index % abi::kQueueRecords];
}

void prepare_multicast(u32 buffer, u32 destination, u32 bytes) {
  niu(buffer, isa::kNiuTargMid) = 0;
  niu(buffer, isa::kNiuTargCoord) = here();
  niu(buffer, isa::kNiuRetLo) = destination;
  niu(buffer, isa::kNiuRetMid) = 0;
  niu(buffer, isa::kNiuTag) = 0;
  niu(buffer, isa::kNiuCtrl) = isa::kNocMulticast;
  niu(buffer, isa::kNiuLen) = bytes;
  niu(buffer, isa::kNiuExclude) = 0;
}

void multicast(volatile abi::TileInfo& info, u32 buffer, u32 source) {
  niu(buffer, isa::kNiuTargLo) = source;
  const u32 rects = info.mcast_rects;
  for (u32 r = 0; r < rects; ++r) {
    niu(buffer, isa::kNiuRetCoord) = info.mcast_rect[r];
    niu(buffer, isa::kNiuCmd) = 1;
    while (niu(buffer, isa::kNiuCmd) & 1) fence();
  }
}

}  // namespace

void run_dispatch() {
  volatile abi::TileInfo& info = mailbox().info;
  volatile abi::QueueControl& control = queue_control();
  const u32 workers = info.tiles - 1;
  u32 taken = 0, sequence = 0;
  u32 acks = workers;  // the workers' first one says that they have booted
  u32 writes = reg(isa::kNiuBase + isa::kNiuWriteAcks);
  prepare_multicast(kRecordBuffer, abi::kMailbox, sizeof(abi::LaunchRecord));
  prepare_multicast(kSequenceBuffer, abi::kMailbox + offsetof(abi::Mailbox, sequence), 4);
  for (;;) {
    at(kBrisc, abi::waypoint("ACKS"));
    while (control.acks != acks) fence();
    control.consumed = taken;
    at(kBrisc, abi::waypoint("IDLE"));
    while (control.written == taken) fence();
    volatile abi::QueueRecord& r = record(taken++);
    fence();
    if (r.op == abi::QueueOp::launch) {
      // The sequence must not overtake the record on its way, so the record's acknowledgements come first.
      multicast(info, kRecordBuffer, reinterpret_cast<u32>(&r.launch));
      reg(kSequenceSource) = ++sequence;
      writes += workers;
      at(kBrisc, abi::waypoint("MCST"));
      while (reg(isa::kNiuBase + isa::kNiuWriteAcks) != writes) fence();
      multicast(info, kSequenceBuffer, kSequenceSource);
      writes += workers;
      acks += workers;
    } else if (r.op == abi::QueueOp::fence) {
      control.completed = r.value;
    }
  }
}

}  // namespace baretile::firmware
