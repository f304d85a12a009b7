// Which tiles work beside which DRAM bank, and the port of each bank that a tile uses.
#pragma once
#include "baretile/chip.h"

namespace baretile::noc {

struct Worker {
  NocXY tile;
  std::vector<NocXY> ports;  // by bank, translated
};

// All tiles, in the order in which banks 0, 1, … in turn take the nearest that is left, so that worker n is beside bank
// n % banks and any first few of them are those beside the banks; at the end the chip's last tile, which dispatches.
// That bank a worker uses through its nearest port, others through the one whose busiest link on the way is the least
// busy so far: a link carries 64 bytes a cycle, a bank gives 47, and all answers of a bank through one port would meet
// on the links beside it. Near is counted the way data go: right and then down on NoC 0; on NoC 1 writes take the same
// way back.
// src: tt-isa-documentation BlackholeA0/NoC/RoutingPaths.md.
std::vector<Worker> place_workers(const Chip& chip);

// The links of NoC 0 from a port or tile to another, raw: right of (x, y) is 2 * (y * 17 + x), below it the next.
std::vector<u32> links(NocXY from, NocXY to);

}  // namespace baretile::noc
