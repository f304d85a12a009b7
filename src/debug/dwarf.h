// Line tables and inlined calls of one compilation unit, DWARF version 4 as clang writes it for -gline-tables-only.
#pragma once
#include <vector>

#include "debug/bytes.h"

namespace baretile::debug {

struct Line {
  std::string file;
  u32 line = 0;
  friend bool operator==(const Line&, const Line&) = default;
};

// Code from `first` up to `end` comes from that line.
struct LineRange {
  u32 first = 0, end = 0, file = 0, line = 0;
};

struct LineTable {
  std::vector<std::string> files;  // by their number; 0 is none
  std::vector<LineRange> ranges;
};
LineTable read_lines(Bytes debug_line);

// A body inlined at that line; `depth` grows inwards.
struct InlinedCall {
  u32 depth = 0, first = 0, end = 0, file = 0, line = 0;
};
std::vector<InlinedCall> read_inlined_calls(Bytes debug_info, Bytes debug_abbrev, Bytes debug_ranges);

}  // namespace baretile::debug
