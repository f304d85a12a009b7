#include "noc/transfer.h"

#include <fmt/format.h>

#include "baretile/error.h"

namespace baretile::noc {
namespace {

void check(const Chip& chip, const Interleaved& buffer, u64 offset, u64 bytes) {
  if (buffer.page_bytes == 0) throw UsageError("an interleaved buffer has pages of 0 bytes");
  const u64 end = buffer.base + buffer.bank_bytes(u32(chip.dram_banks().size()));
  if (end > chip.dram_bank_bytes())
    throw UsageError(fmt::format("an interleaved buffer ends at {:#x} in each bank, past the {:#x} bytes of one", end,
                                 chip.dram_bank_bytes()));
  if (offset > buffer.bytes() || bytes > buffer.bytes() - offset)
    throw UsageError(
        fmt::format("{} bytes at offset {} do not lie in a buffer of {} bytes", bytes, offset, buffer.bytes()));
}

// Calls access(tile, addr, first, count) for each page the range touches, `first` counting from the range's start.
template <class Access>
void for_pages(Chip& chip, const Interleaved& buffer, u64 offset, u64 bytes, Access access) {
  check(chip, buffer, offset, bytes);
  const auto& banks = chip.dram_banks();
  for (u64 done = 0; done < bytes;) {
    const u64 in_page = (offset + done) % buffer.page_bytes,
              count = std::min(buffer.page_bytes - in_page, bytes - done);
    const DramAddress at = page_address(buffer, u32((offset + done) / buffer.page_bytes), u32(banks.size()));
    access(banks[at.bank], at.addr + in_page, done, count);
    done += count;
  }
}

}  // namespace

void write(Chip& chip, const Interleaved& buffer, u64 offset, std::span<const std::byte> data) {
  for_pages(chip, buffer, offset, data.size(),
            [&](NocXY bank, u64 addr, u64 first, u64 count) { chip.write(bank, addr, data.subspan(first, count)); });
}

void read(Chip& chip, const Interleaved& buffer, u64 offset, std::span<std::byte> out) {
  for_pages(chip, buffer, offset, out.size(),
            [&](NocXY bank, u64 addr, u64 first, u64 count) { chip.read(bank, addr, out.subspan(first, count)); });
}

}  // namespace baretile::noc
