#include "baretile/isa/grid.h"

#include <fmt/format.h>

#include <bit>

#include "baretile/error.h"
#include "chip/window.h"

namespace baretile {

NocXY to_noc(LogicalXY tile) {
  if (tile.x >= std::size(isa::kTensixColumns) || tile.y >= isa::kTensixRows)
    throw UsageError(fmt::format("logical tile ({}, {}) is outside the 14 by 10 grid", tile.x, tile.y));
  return {isa::kTensixColumns[tile.x], u8(isa::kTensixRow0 + tile.y)};
}

std::optional<LogicalXY> to_logical(NocXY tile) {
  const auto column = std::find(std::begin(isa::kTensixColumns), std::end(isa::kTensixColumns), tile.x);
  if (column == std::end(isa::kTensixColumns) || tile.y < isa::kTensixRow0 ||
      tile.y >= isa::kTensixRow0 + isa::kTensixRows)
    return {};
  return LogicalXY{u8(column - std::begin(isa::kTensixColumns)), u8(tile.y - isa::kTensixRow0)};
}

// Live columns take the lowest translated x, so their number is enough; of the banks at most one is missing, always the
// last in translated order. src: tt-isa-documentation BlackholeA0/NoC/Coordinates.md; tags 34 and 36 as tt-umd reads
// them.
void Chip::find_tiles() {
  const auto live = [&](TelemetryTag tag, u32 possible, u32 least) {
    const std::optional<u32> mask = telemetry(tag);
    if (!mask && simulated_) return possible;  // ttsim v1.10 has everything and says nothing
    const u32 count = mask ? u32(std::popcount(*mask & mask_bits(possible))) : 0;
    if (count >= least) return count;
    throw DeviceError(fmt::format("telemetry tag {} of {} is {}; update the card's firmware, or reset it", u32(tag),
                                  info().path, mask ? fmt::format("{:#x}", *mask) : "missing"),
                      info().path);
  };
  columns_ = live(TelemetryTag::tensix_columns, std::size(isa::kTensixColumns), 1);
  for (u32 y = 0; y < isa::kTensixRows; y++)
    for (u32 x = 0; x < columns_; x++) tiles_.push_back(to_noc({u8(x), u8(y)}));
  const u32 banks = live(TelemetryTag::gddr_banks, isa::kDramBanks, isa::kDramBanks - 1);
  for (u32 b = 0; b < banks; b++)
    dram_banks_.push_back({u8(b < 4 ? isa::kDramX0 : isa::kDramX1), u8(isa::kDramY0 + isa::kDramPorts * (b % 4))});
  windows_->set_map(tiles_, dram_banks_);
}

u64 Chip::dram_bank_bytes() const { return isa::kDramBankBytes; }

}  // namespace baretile
