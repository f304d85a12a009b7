// Records of bt_print and bt_assert, see kernels/debug/print.h, as text.
#pragma once
#include "debug/symbols.h"

namespace baretile::debug {

struct Record {
  const Site* site = nullptr;  // null: of no known place
  u32 head = 0;
  std::vector<u32> values;
};

// Takes the records apart that a log holds in `words`.
std::vector<Record> read_log(std::span<const u32> words, const Symbols& symbols);

std::string printed(const Record& record);  // bt_print: its format with its values
std::string failure(const Record& record);  // bt_assert: "kernel.cc:12: bt_assert(n < 4); n = 7"

}  // namespace baretile::debug
