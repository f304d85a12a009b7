// baretile top: what a chip's tiles, queue and sensors say, again and again.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "baretile/abi.h"
#include "baretile/chip.h"
#include "baretile/error.h"
#include "cli/command.h"

namespace baretile::cli {
namespace {

constexpr size_t kMostRows = 12;
constexpr const char* kCores[] = {"BRISC", "NCRISC", "TRISC0", "TRISC1", "TRISC2"};

volatile std::sig_atomic_t interrupted = 0;

template <class T>
T read(Chip& chip, NocXY tile, u64 addr) {
  T value;
  chip.read(tile, addr, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

struct Tile {
  NocXY at;
  abi::Mailbox box;
  // The firmware was told the tile's own place; whatever else was in L1 is unlikely to agree.
  bool alive(size_t tiles) const {
    return box.info.tiles == tiles && to_logical(at) == LogicalXY{u8(box.info.column), u8(box.info.row)};
  }
  bool busy() const { return box.sequence != box.core_done[0] && abi::takes_part(box.info, box.launch); }
};

std::string waypoints(const Tile& tile) {
  std::string text;
  for (u32 core = 0; core < 5; ++core) {
    if (core != 0 && tile.box.launch.entry[core] == abi::kNoEntry) continue;
    text += fmt::format("{}{} ", text.empty() ? "" : " ", kCores[core]);
    for (u32 i = 0; i < 4; ++i) {
      const char c = char(tile.box.waypoints[core] >> 8 * i & 0xFF);
      text += c > ' ' && c <= '~' ? c : '.';
    }
  }
  return text;
}

std::string tile_map(const Chip& chip, const std::vector<Tile>& tiles) {
  std::string text;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (i % chip.columns() == 0) text += i == 0 ? "  " : "\n  ";
    text += !tiles[i].alive(tiles.size()) ? " -" : i + 1 == tiles.size() ? " D" : tiles[i].busy() ? " #" : " .";
  }
  return text + "\n";
}

std::string screen(Chip& chip) {
  std::vector<Tile> tiles;
  for (const NocXY at : chip.tiles()) tiles.push_back({at, read<abi::Mailbox>(chip, at, abi::kMailbox)});
  const auto clock = chip.clock_mhz();
  std::string text = fmt::format("{}, {} tiles, clock {}\n", chip.info().description, tiles.size(),
                                 clock ? fmt::format("{} MHz", *clock) : "unreadable");
  size_t alive = 0, busy = 0;
  for (const Tile& tile : tiles) {
    alive += tile.alive(tiles.size());
    busy += tile.alive(tiles.size()) && tile.busy();
  }
  if (tiles.back().alive(tiles.size())) {
    const auto queue = read<abi::QueueControl>(chip, tiles.back().at, abi::kQueueControl);
    text += fmt::format("queue: {} records written, {} done, {} waiting; last fence {}\n", queue.written,
                        queue.consumed, queue.written - queue.consumed, queue.completed);
  } else {
    text += "queue: no firmware of baretile runs here (a simulator's chip lives in the process that opened it)\n";
  }
  text += fmt::format("tiles: {} with firmware, {} at work   (# at work, . waits, D dispatches, - no firmware)\n{}",
                      alive, busy, tile_map(chip, tiles));
  size_t shown = 0;
  for (const Tile& tile : tiles)
    if (tile.alive(tiles.size()) && tile.busy() && shown++ < kMostRows)
      text += fmt::format("  tile {}-{}  launch {}  {}\n", tile.at.x, tile.at.y, tile.box.sequence, waypoints(tile));
  text += "telemetry:\n";
  for (const TelemetryEntry& entry : chip.telemetry_table())
    text += fmt::format("  {:<32} {}\n", entry.name,
                        entry.value ? fmt::format("{:#010x}  {}", *entry.value, *entry.value) : "unreadable");
  return text;
}

int run(Arguments& arguments) {
  const bool once = arguments.flag("--once");
  const std::string text = arguments.option("--interval", "1");
  double seconds = 0;
  try {
    seconds = std::stod(text);
  } catch (const std::exception&) {
  }
  if (!(seconds >= 0.1 && seconds <= 3600))
    throw UsageError(fmt::format("top: --interval takes 0.1 to 3600 seconds, not '{}'", text));
  arguments.expect_no_more();
  Chip chip(open_device(arguments.device));
  if (once) {
    fmt::print("{}", screen(chip));
    return 0;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  while (!interrupted) {
    fmt::print("\x1b[H\x1b[2J{}", screen(chip));
    std::fflush(stdout);
    for (double left = seconds; left > 0 && !interrupted; left -= 0.1)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return 0;
}

}  // namespace

extern const Command kTop = {
    "top", "tiles, queue and telemetry of a chip, live",
    "Usage: baretile top [--once] [--interval SECONDS] [--device NAME]\n\n"
    "Shows which tiles work and where their cores are, how far the queue is, and what the sensors say. It only reads,\n"
    "so it may watch a card that another process uses. --once prints one screen; Ctrl-C ends it otherwise.\n",
    run};

}  // namespace baretile::cli
