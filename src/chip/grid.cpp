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
    if (!mask && simulated_) return mask_bits(possible);  // ttsim v1.10 has everything and says nothing
    const u32 found = mask.value_or(0) & mask_bits(possible);
    if (u32(std::popcount(found)) >= least) return found;
    throw DeviceError(fmt::format("telemetry tag {} of {} is {}; update the card's firmware, or reset it", u32(tag),
                                  info().path, mask ? fmt::format("{:#x}", *mask) : "missing"),
                      info().path);
  };
  const u32 columns = live(TelemetryTag::tensix_columns, std::size(isa::kTensixColumns), 1);
  for (u32 bit = 0; bit < std::size(isa::kTensixHarvestOrder); bit++)
    if (columns >> bit & 1) raw_columns_.push_back(isa::kTensixHarvestOrder[bit]);
  std::sort(raw_columns_.begin(), raw_columns_.end());
  columns_ = u32(raw_columns_.size());
  for (u32 y = 0; y < isa::kTensixRows; y++)
    for (u32 x = 0; x < columns_; x++) tiles_.push_back(to_noc({u8(x), u8(y)}));
  constexpr u32 kHalf = isa::kDramColumnBanks;
  const u32 banks = live(TelemetryTag::gddr_banks, isa::kDramBanks, isa::kDramBanks - 1);
  const u32 dead = std::min(u32(std::countr_one(banks)), isa::kDramBanks - 1);  // or the last, which then stays last
  const bool swapped = dead < kHalf;  // the column with all its banks comes first
  for (const u32 column : {swapped * kHalf, !swapped * kHalf}) {
    for (u32 b = 0; b < kHalf; b++)
      if (b != dead % kHalf) raw_banks_.push_back(u8(column + b));
    raw_banks_.push_back(u8(column + dead % kHalf));
  }
  raw_banks_.resize(size_t(std::popcount(banks)));
  for (u32 b = 0; b < raw_banks_.size(); b++)
    dram_banks_.push_back({u8(b < 4 ? isa::kDramX0 : isa::kDramX1), u8(isa::kDramY0 + isa::kDramPorts * (b % 4))});
  windows_->set_map(tiles_, dram_banks_);
}

NocXY Chip::raw(NocXY place) const {
  if (const auto tile = to_logical(place); tile && tile->x < columns_) return {raw_columns_[tile->x], place.y};
  const u32 port = place.y - isa::kDramY0, column = place.x - isa::kDramX0;
  const u32 number = column * isa::kDramColumnBanks + port / isa::kDramPorts;
  if (column > 1 || port >= isa::kDramColumnBanks * isa::kDramPorts || number >= raw_banks_.size())
    throw UsageError(fmt::format("{}-{} is neither a live Tensix tile nor a DRAM port", place.x, place.y));
  const u32 bank = raw_banks_[number];
  return {isa::kDramColumns[bank / isa::kDramColumnBanks],
          isa::kDramRows[bank % isa::kDramColumnBanks][port % isa::kDramPorts]};
}

u64 Chip::dram_bank_bytes() const { return isa::kDramBankBytes; }

}  // namespace baretile
