#include "sim/arc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sim/fault.h"

namespace baretile::sim {
namespace {

constexpr u32 kCsm = 0x10000000, kCsmBytes = 0x80000;
constexpr u32 kScratch = 0x80030400, kScratchWords = 16, kArcMisc = 0x80030100, kDoorbell = 0x800B0000,
              kNodeId = 0x80050044;
constexpr u32 kNodeIdValue = 0x10611008;  // (8,0) of the 17 x 12 grid, NoC 0

// Where the tables stand in CSM, as on ttsim v1.10.
constexpr u32 kTelemetry = kCsm + 0x100, kValues = kCsm + 0x200, kQueueBlock = kCsm + 0x300, kQueues = kCsm + 0x400;
constexpr u32 kQueueEntries = 8, kQueueCount = 4, kHeaderBytes = 32, kMessageBytes = 32;
constexpr u32 kQueueBytes = kHeaderBytes + 2 * kQueueEntries * kMessageBytes;

struct Tag {
  u32 tag, value;
};

// src: tt-umd telemetry.h for the numbers; values as ttsim v1.10 where it has the tag, else an idle p150.
constexpr Tag kTags[] = {
    {1, 0x400},       {2, 1},         {3, 1},     {5, 14000}, {6, 750},    {7, 35},     {8, 45},      {11, 40 << 16},
    {12, 40 << 16},   {13, 35 << 16}, {14, 1000}, {15, 900},  {16, 540},   {21, 0xFFF}, {22, 0x5555}, {23, 16000},
    {28, 0x12050000}, {32, 1},        {52, 0},    {38, 1},    {35, 0xFFF}, {61, 0},     {62, 1},      {63, 1350},
};

bool answers_zero(u32 code) {
  constexpr u8 kCodes[] = {0x11, 0x21, 0x51, 0x52, 0x53, 0x54, 0x56, 0x57, 0x90,
                           0xA0, 0xA3, 0xB6, 0xB7, 0xBA, 0xBC, 0xC1, 0xC7};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

}  // namespace

Arc::Arc(Harvest harvest) : csm_(kCsmBytes) {
  scratch_[2] = 5;  // boot status: messages ready, firmware started
  scratch_[11] = kQueueBlock;
  scratch_[12] = kValues;
  scratch_[13] = kTelemetry;
  u32 count = 0;
  const auto add = [&](u32 tag, u32 value) {
    set_word(kTelemetry + 8 + 4 * count, tag | count << 16);
    set_word(kValues + 4 * count, value);
    ++count;
  };
  for (const Tag& row : kTags) add(row.tag, row.value);
  add(4, 0);
  add(34, harvest.tensix_columns);
  add(36, harvest.dram_banks);
  set_word(kTelemetry, 1);
  set_word(kTelemetry + 4, count);
  set_word(kQueueBlock, kQueues);
  set_word(kQueueBlock + 4, kQueueEntries | kQueueCount << 8);
}

u32 Arc::word(u32 address) const {
  u32 value;
  std::memcpy(&value, &csm_[address - kCsm], 4);
  return value;
}

void Arc::set_word(u32 address, u32 value) { std::memcpy(&csm_[address - kCsm], &value, 4); }

void Arc::read(u64 address, void* out, u32 bytes) const {
  if (address >= kCsm && address < kCsm + kCsmBytes && bytes <= kCsm + kCsmBytes - address) {
    std::memcpy(out, &csm_[address - kCsm], bytes);
    return;
  }
  if (bytes != 4 || address % 4 != 0)
    fault(FaultKind::bad_address, fmt::format("ARC: {} bytes at {:#x}; registers take aligned words", bytes, address));
  u32 value = 0;
  if (address >= kScratch && address < kScratch + 4 * kScratchWords)
    value = scratch_[(address - kScratch) / 4];
  else if (address == kNodeId)
    value = kNodeIdValue;
  else if (address != kArcMisc)
    fault(FaultKind::not_modelled, fmt::format("ARC register {:#x}", address));
  std::memcpy(out, &value, 4);
}

void Arc::write(u64 address, const void* data, u32 bytes) {
  if (address >= kCsm && address < kCsm + kCsmBytes && bytes <= kCsm + kCsmBytes - address) {
    std::memcpy(&csm_[address - kCsm], data, bytes);
    return;
  }
  if (bytes != 4 || address % 4 != 0)
    fault(FaultKind::bad_address, fmt::format("ARC: {} bytes at {:#x}; registers take aligned words", bytes, address));
  u32 value;
  std::memcpy(&value, data, 4);
  constexpr u32 kInterrupt = 1u << 16;
  if (address >= kScratch && address < kScratch + 4 * kScratchWords)
    scratch_[(address - kScratch) / 4] = value;
  else if (address == kDoorbell || (address == kArcMisc && value & kInterrupt))
    answer_messages();
  else if (address != kArcMisc)
    fault(FaultKind::not_modelled, fmt::format("ARC register {:#x}", address));
}

// Each queue: a header of pointers counted modulo twice the entries, then the requests, then the responses.
void Arc::answer_messages() {
  for (u32 k = 0; k < kQueueCount; ++k) {
    const u32 queue = kQueues + k * kQueueBytes, requests = queue + kHeaderBytes;
    const u32 responses = requests + kQueueEntries * kMessageBytes;
    while (word(queue) != word(queue + 0x10)) {
      const u32 read = word(queue + 0x10), written = word(queue + 0x14);
      const u32 code = word(requests + read % kQueueEntries * kMessageBytes) & 0xFF;
      constexpr u32 kTestCode = 0x58;
      if (code != kTestCode && !answers_zero(code))
        fault(FaultKind::not_modelled, fmt::format("ARC message {:#x}", code));
      const u32 response = responses + written % kQueueEntries * kMessageBytes;
      std::fill_n(&csm_[response - kCsm], kMessageBytes, u8{0});
      if (code == kTestCode) set_word(response, 1);
      set_word(queue + 0x10, (read + 1) % (2 * kQueueEntries));
      set_word(queue + 0x14, (written + 1) % (2 * kQueueEntries));
    }
  }
}

}  // namespace baretile::sim
