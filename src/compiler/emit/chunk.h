// One pass of the vector unit over a slot: an expression over 32 lanes, evaluated in eight registers.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "compiler/emit/code.h"

namespace baretile::compiler {

// The first Dst row of a slot. In a block of several column tiles, column w has it `per_column` rows further each.
struct Place {
  u32 row = 0, per_column = 0;
  std::string text() const { return per_column ? fmt::format("{} + {} * w", row, per_column) : fmt::format("{}", row); }
  bool operator==(const Place&) const = default;
};

struct ChunkValue {
  enum class Kind { slot, constant, op } kind = Kind::slot;
  Place place = {};       // slot
  bool reusable = false;  // slot: may hold a result once its value is not needed any more
  double constant = 0;
  bool integer = false;  // the constant: a 32-bit word rather than fp32
  std::string op = {};
  std::vector<u32> inputs = {};  // op: earlier values
};

struct ChunkTarget {
  u32 value = 0;
  std::optional<Place> place;  // none: chosen here
};

struct ChunkProgram {
  std::vector<ChunkValue> values = {};
  std::vector<ChunkTarget> targets = {};
};

// Allocates registers and a place for each target that has none, spilling to slots from `new_slot`, and prints the loop
// over a slot of `rows`.
void print_chunks(Code& code, ChunkProgram& program, u32 rows, const std::function<Place()>& new_slot);

// The word that a constant is in Dst.
u32 word_of(double value, bool integer);

// LReg0 = op(LReg0, LReg1), with LReg4 and on for what it needs besides.
std::string fold_text(const std::string& op);

// How many operands the header of an operation takes, which sfpu_core.h's rules tell. UsageError when it has none.
u32 operands_of(const std::string& name, std::string_view header);

// Whether an operation of kernels/sfpu gives +0 when all its inputs are zero.
bool keeps_zero(const std::string& op);

}  // namespace baretile::compiler
