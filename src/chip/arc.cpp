#include "chip/arc.h"

#include <fmt/format.h>

#include "baretile/error.h"
#include "baretile/isa/grid.h"

namespace baretile {
namespace {

constexpr NocXY kArc{isa::kArcX, isa::kArcY};
// src: tt-kmd blackhole.c and tt-umd blackhole_arc_telemetry_reader.cpp; read on ttsim v1.10.
constexpr u64 kScratch = 0x80030400, kBootStatus = kScratch + 4 * 2, kQueueBlock = kScratch + 4 * 11,
              kTelemetryValues = kScratch + 4 * 12, kTelemetryTable = kScratch + 4 * 13, kDoorbell = 0x800B0000;
constexpr u32 kMessagesReady = 1;  // of the boot status
constexpr u32 kAllOnes = 0xFFFFFFFF;
constexpr u32 kMostTags = 512, kMostEntries = 64;

// Queue header, then `entries` requests and as many responses of 32 bytes. Pointers count modulo twice the entries.
constexpr u64 kRequestWrite = 0x00, kResponseRead = 0x04, kRequestRead = 0x10, kResponseWrite = 0x14,
              kQueueHeader = 0x20, kEntryBytes = 0x20;

}  // namespace

Chip::Arc::Arc(Chip& chip) : chip_(&chip) {
  const u32 table = read(kTelemetryTable);
  values_ = read(kTelemetryValues);
  const u32 count = table == 0 || table == kAllOnes ? 0 : read(table + 4);
  if (count == 0 || count > kMostTags)
    throw DeviceError(
        fmt::format("the ARC firmware of {} offers no telemetry (table at {:#x}, {} entries); reset the card",
                    chip.info().path, table, count),
        "tile 8-0, ARC");
  for (u32 i = 0; i < count; i++) {
    const u32 entry = read(u64{table} + 8 + 4 * i);
    index_[entry & 0xFFFF] = entry >> 16;
  }
}

u32 Chip::Arc::read(u64 addr) const { return chip_->read32(kArc, addr); }
void Chip::Arc::write(u64 addr, u32 value) { chip_->write32(kArc, addr, value); }

std::optional<u32> Chip::Arc::value(u32 tag) const {
  const auto found = index_.find(tag);
  if (found == index_.end()) return {};
  const u32 value = read(values_ + 4 * found->second);
  return value == kAllOnes ? std::nullopt : std::optional(value);
}

std::vector<u32> Chip::Arc::tags() const {
  std::vector<u32> tags;
  for (const auto& entry : index_) tags.push_back(entry.first);
  return tags;
}

ArcReply Chip::Arc::message(u8 code, std::span<const u32> arguments, std::chrono::milliseconds deadline) {
  if (arguments.size() > 7)
    throw UsageError(fmt::format("ARC message {:#04x} has {} arguments; 7 fit", code, arguments.size()));
  chip_->wait_until("the ARC firmware to take messages", deadline,
                    [&] { return (read(kBootStatus) & kMessagesReady) != 0; });
  const u32 block = read(kQueueBlock), queue = read(block), entries = read(block + 4) & 0xFF;
  if (entries == 0 || entries > kMostEntries)
    throw DeviceError(
        fmt::format("the ARC message queue of {} has {} entries; reset the card", chip_->info().path, entries),
        "tile 8-0, ARC");

  const u32 request = read(queue + kRequestWrite);
  const auto full = [&] { return (request - read(queue + kRequestRead)) % (2 * entries) >= entries; };
  chip_->wait_until("room in the ARC message queue", deadline, [&] { return !full(); });
  const u64 slot = queue + kQueueHeader + request % entries * kEntryBytes;
  for (u32 i = 0; i < 8; i++) write(slot + 4 * i, i == 0 ? code : i <= arguments.size() ? arguments[i - 1] : 0);
  write(queue + kRequestWrite, (request + 1) % (2 * entries));
  write(kDoorbell, 0);

  const u32 response = read(queue + kResponseRead);
  chip_->wait_until(fmt::format("the ARC's answer to message {:#04x}", code), deadline,
                    [&] { return read(queue + kResponseWrite) != response; });
  ArcReply reply;
  const u64 answer = queue + kQueueHeader + (entries + response % entries) * kEntryBytes;
  for (u32 i = 0; i < 8; i++) reply[i] = read(answer + 4 * i);
  write(queue + kResponseRead, (response + 1) % (2 * entries));
  if ((reply[0] & 0xFF) == 0xFF)
    throw DeviceError(fmt::format("the ARC firmware of {} does not know message {:#04x}; update the card's firmware",
                                  chip_->info().path, code),
                      "tile 8-0, ARC");
  return reply;
}

std::optional<u32> Chip::telemetry(TelemetryTag tag) { return arc_->value(u32(tag)); }

std::vector<TelemetryEntry> Chip::telemetry_table() {
  std::vector<TelemetryEntry> table;
  for (const u32 tag : arc_->tags()) table.push_back({tag, telemetry_name(tag), arc_->value(tag)});
  return table;
}

ArcReply Chip::arc_message(u8 code, std::span<const u32> arguments, std::chrono::milliseconds deadline) {
  return arc_->message(code, arguments, deadline);
}

void Chip::set_busy(bool busy) { arc_message(busy ? 0x52 : 0x54); }

}  // namespace baretile
