// Host transfers to and from interleaved DRAM buffers, checked against the buffer and the banks.
#pragma once
#include "noc/address.h"

namespace baretile::noc {

// `offset` counts bytes from the start of page 0; page bytes need not divide the range.
void write(Chip& chip, const Interleaved& buffer, u64 offset, std::span<const std::byte> data);
void read(Chip& chip, const Interleaved& buffer, u64 offset, std::span<std::byte> out);

}  // namespace baretile::noc
