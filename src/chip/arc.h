// The ARC tile: telemetry tables and the message queue of its firmware.
#pragma once
#include <map>

#include "chip/window.h"

namespace baretile {

class Chip::Arc {
 public:
  explicit Arc(Chip& chip);
  std::optional<u32> value(u32 tag) const;  // of a tag the firmware offers, unless it reads as all ones
  std::vector<u32> tags() const;
  ArcReply message(u8 code, std::span<const u32> arguments, std::chrono::milliseconds deadline);
  void attach(Chip& chip) { chip_ = &chip; }  // after the Chip moved

 private:
  u32 read(u64 addr) const;
  void write(u64 addr, u32 value);

  Chip* chip_;
  u64 values_ = 0;
  std::map<u32, u32> index_;  // tag -> word at values_
};

// What tt-umd calls a tag, or "unknown".
std::string_view telemetry_name(u32 tag);

}  // namespace baretile
