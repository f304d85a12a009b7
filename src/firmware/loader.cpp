#include "firmware/loader.h"

#include <fmt/format.h>

#include "baretile/error.h"
#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"
#include "noc/multicast.h"
#include "noc/placement.h"

extern "C" const std::byte baretile_firmware_begin[], baretile_firmware_end[];  // made by cmake/device_code.cmake

namespace baretile::firmware {
namespace {

constexpr auto kBootDeadline = std::chrono::seconds(10);

abi::TileInfo common_info(const Chip& chip, const Grid& grid, bool park) {
  abi::TileInfo info{};
  info.tiles = u32(grid.tiles.size());
  info.dispatch_coord = isa::noc_coord(grid.dispatch().x, grid.dispatch().y);
  info.park = park;
  info.dram_banks = u32(chip.dram_banks().size());
  if (grid.rects.size() > std::size(info.mcast_rect))
    throw InternalError(fmt::format("{} Tensix tiles need {} multicast rectangles; the firmware takes {}",
                                    grid.tiles.size(), grid.rects.size(), std::size(info.mcast_rect)));
  info.mcast_rects = u32(grid.rects.size());
  for (u32 r = 0; r < info.mcast_rects; ++r) {
    const auto [first, last] = grid.rects[r];
    info.mcast_rect[r] = isa::noc_rect(first.x, first.y, last.x, last.y);
    const bool holds_sender =
        r + 1 == info.mcast_rects;  // the last tile is in the last rectangle, and is left out of it
    info.mcast_tiles[r] = u32(last.x - first.x + 1) * u32(last.y - first.y + 1) - holds_sender;
  }
  return info;
}

// Semaphores, Src banks and the Tensix units keep their state over a reset of the cores; their own reset bits clear it.
// A simulator starts clean and refuses them. src: SoftReset.md, bits 0-10 and 15-17.
constexpr u32 kHoldUnits = 0x387FF;

}  // namespace

std::span<const std::byte> image() { return {baretile_firmware_begin, baretile_firmware_end}; }

void stop(Chip& chip, const Grid& grid) {
  for (const NocRect& rect : grid.rects) chip.set_soft_reset(rect, isa::kHoldAll);
}

Grid boot(Chip& chip, bool park) {
  Grid grid{{}, noc::cover(chip.tiles())};
  if (chip.tiles().size() < 2)
    throw DeviceError(fmt::format("{} has {} Tensix tiles; one to dispatch and one to work are needed",
                                  chip.info().name, chip.tiles().size()),
                      chip.info().name);
  const std::vector<noc::Worker> workers = noc::place_workers(chip);
  for (const noc::Worker& worker : workers) grid.tiles.push_back(worker.tile);
  stop(chip, grid);
  if (!chip.simulated())
    for (const NocRect& rect : grid.rects) chip.set_soft_reset(rect, isa::kHoldAll | kHoldUnits);
  abi::Mailbox mailbox{};
  mailbox.info = common_info(chip, grid, park);
  for (u32 core = 0; core < isa::kCores; ++core) {
    mailbox.debug[core].next = abi::kDebugLog + core * abi::kDebugLogBytes;
    mailbox.debug[core].end = mailbox.debug[core].next + abi::kDebugLogBytes - abi::kMostRecordBytes;
  }
  noc::multicast(chip, grid.rects, abi::kFirmwareBase, image());
  noc::multicast(chip, grid.rects, abi::kMailbox, std::as_bytes(std::span(&mailbox, 1)));
  for (u32 i = 0; i < grid.tiles.size(); ++i) {
    abi::TileInfo info = mailbox.info;
    const LogicalXY at = *to_logical(grid.tiles[i]);
    info.logical_index = i, info.row = at.y, info.column = at.x;
    for (u32 b = 0; b < info.dram_banks; ++b)
      info.dram_coord[b] = isa::noc_coord(workers[i].ports[b].x, workers[i].ports[b].y);
    chip.write(grid.tiles[i], abi::kMailbox + offsetof(abi::Mailbox, info), std::as_bytes(std::span(&info, 1)));
  }
  const abi::QueueControl control{};
  chip.write(grid.dispatch(), abi::kQueueControl, std::as_bytes(std::span(&control, 1)));
  for (const NocRect& rect : grid.rects) {
    chip.set_reset_pc(rect, 8, 12, 16, 4);  // boot.S: core i enters at 4 * i
    chip.set_soft_reset(rect, park ? isa::kHoldAll & ~isa::kHoldBrisc : 0);
  }
  constexpr u32 kAcks = abi::kQueueControl + offsetof(abi::QueueControl, acks);
  chip.wait_until(
      "all tiles to start their firmware", kBootDeadline,
      [&] { return chip.read32(grid.dispatch(), kAcks) == grid.workers(); },
      [&] { return fmt::format("{} of {} workers did", chip.read32(grid.dispatch(), kAcks), grid.workers()); });
  return grid;
}

}  // namespace baretile::firmware
