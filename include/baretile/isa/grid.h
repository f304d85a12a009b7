// Where things stand on Blackhole's NoC 0 grid (17 x 12, x and y from the top left). Freestanding.
// src: tt-isa-documentation BlackholeA0/NoC/Coordinates.md and tt-kmd's telemetry tags; telemetry decides at run time what is live.
#pragma once
#include "baretile/bits.h"

namespace baretile::isa {

inline constexpr u32 kGridWidth = 17, kGridHeight = 12;

// Tensix: 14 columns of 10 tiles. Harvested columns take the highest translated x.
inline constexpr u8 kTensixColumns[14] = {1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16};
inline constexpr u32 kTensixRow0 = 2, kTensixRows = 10;
// Bit i of telemetry tag 34 is the raw column kTensixHarvestOrder[i].
inline constexpr u8 kTensixHarvestOrder[14] = {1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10};

// DRAM, translated: two columns, three ports a bank, bank b of a column at y 12+3b … 14+3b. Raw: at kDramColumns, and port p of a column's
// bank b in row kDramRows[b][p]; a column with a dead bank is the second one, and then that bank's counterpart is the first one's last.
// src: tt-umd's blackhole_implementation.hpp and blackhole_coordinate_manager.cpp.
inline constexpr u32 kDramX0 = 17, kDramX1 = 18, kDramY0 = 12, kDramPorts = 3, kDramBanks = 8, kDramColumnBanks = 4;
inline constexpr u8 kDramColumns[2] = {0, 9}, kDramRows[kDramColumnBanks][kDramPorts] = {{0, 1, 11}, {2, 10, 3}, {9, 4, 8}, {5, 7, 6}};
inline constexpr u64 kDramBankBytes = 0xFF000000;  // 4080 MiB usable on cards; ttsim v1.10 has 4096

inline constexpr u32 kPcieX = 19, kPcieY = 24;  // translated
inline constexpr u32 kArcX = 8, kArcY = 0;

}  // namespace baretile::isa
