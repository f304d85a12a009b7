#include "baretile/chip.h"

#include <fmt/format.h>

#include "baretile/isa/pcie.h"
#include "cli/chip_check.h"
#include "cli/chip_ttsim.h"
#include "cli/command.h"

namespace baretile::cli {
namespace {

constexpr const char* kHelp =
    "baretile chip [--device NAME]         what the chip is and what its firmware reports\n"
    "baretile chip check [--device NAME]   whether everything baretile needs is there, and how to get what is "
    "missing;\n"
    "                                      exit code 0 when it is, 1 when something is missing\n"
    "baretile chip ttsim [--from FILE|URL] [--sha256 HASH]\n"
    "                                      gets the release of ttsim that baretile is tested with into the cache, and\n"
    "                                      checks it; a download that broke off is continued\n";

// The board's serial number holds its kind. src: tt-umd, get_board_type_from_board_id.
std::string board_name(u64 id) {
  switch ((id >> 36) & 0xFFFFF) {
    case 0x36:
    case 0x43:
      return "p100";
    case 0x40:
    case 0x41:
    case 0x42:
      return "p150";
    case 0x44:
    case 0x45:
    case 0x46:
      return "p300";
    case 0x47:
      return "Galaxy module";
    default:
      return "unknown board";
  }
}

std::string text(const std::optional<u32>& value, const char* unit) {
  return value ? fmt::format("{} {}", *value, unit) : "unreadable";
}

void print_summary(Chip& chip) {
  const auto high = chip.telemetry(TelemetryTag::board_id_high), low = chip.telemetry(TelemetryTag::board_id_low);
  const u64 id = u64{high.value_or(0)} << 32 | low.value_or(0);
  const auto bundle = chip.telemetry(TelemetryTag::firmware_bundle);
  const u32 v = bundle.value_or(0);
  fmt::print("device      {}\n", chip.info().description);
  fmt::print("board       {}\n", high && low ? fmt::format("{} (id {:016x})", board_name(id), id) : "unreadable");
  fmt::print("firmware    {}\n",
             bundle ? fmt::format("{}.{}.{}.{}", v >> 24, (v >> 16) & 255, (v >> 8) & 255, v & 255) : "unreadable");
  fmt::print("clock       {}\n", text(chip.clock_mhz(), "MHz"));
  fmt::print("tiles       {} ({} columns of {})\n", chip.tiles().size(), chip.columns(),
             chip.tiles().size() / chip.columns());
  fmt::print("DRAM        {} banks of {} MiB\n", chip.dram_banks().size(), chip.dram_bank_bytes() >> 20);
  fmt::print("windows     BAR 0 {} MiB, BAR 4 {} MiB\n", chip.device().bar_bytes(0) >> 20,
             chip.device().bar_bytes(4) >> 20);
}

void print_telemetry(Chip& chip) {
  fmt::print("\ntelemetry\n");
  for (const TelemetryEntry& entry : chip.telemetry_table())
    fmt::print("  {:>3}  {:<32} {}\n", entry.tag, entry.name,
               entry.value ? fmt::format("{:#010x}  {}", *entry.value, *entry.value) : "unreadable");
}

int run(Arguments& arguments) {
  if (!arguments.words.empty() && arguments.words[0] == "check") {
    arguments.words.erase(arguments.words.begin());
    arguments.expect_no_more();
    return check_machine(arguments.device);
  }
  if (!arguments.words.empty() && arguments.words[0] == "ttsim") {
    arguments.words.erase(arguments.words.begin());
    return get_ttsim(arguments);
  }
  arguments.expect_no_more();
  Chip chip(open_device(arguments.device));
  print_summary(chip);
  print_telemetry(chip);
  return 0;
}

}  // namespace

const Command kChip{"chip", "what the chip is; 'chip check' tests this machine, 'chip ttsim' gets a simulator", kHelp,
                    run};

}  // namespace baretile::cli
