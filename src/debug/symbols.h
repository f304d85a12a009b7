// What a linked kernel file tells about its code: source lines, and the places of bt_print and bt_assert.
#pragma once
#include <map>

#include "debug/dwarf.h"

namespace baretile::debug {

// See Site in kernels/debug/print.h. An assertion's text is its condition, and `names` what its values are called.
struct Site {
  Line where;
  std::string text, names;
};

class Symbols {
 public:
  explicit Symbols(std::span<const u8> linked);  // SystemError when the file is damaged

  // The line of an instruction, and those of the calls it was inlined through, innermost first; empty: not known.
  std::vector<Line> lines(u32 address) const;
  const Site* site(u32 id) const;  // or null

 private:
  LineTable table_;
  std::vector<InlinedCall> calls_;
  std::map<u32, Site> sites_;
};

std::string to_string(const Line& line);

}  // namespace baretile::debug
