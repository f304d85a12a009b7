// The operations of a graph, from ops.def. Stages behind the graph ask for an operation's family, never for its name.
#pragma once
#include <array>
#include <cmath>

#include "baretile/program.h"

namespace baretile::compiler {

enum class Op : u8 {
#define UNARY(name, ...) name,
#define BINARY(name, ...) name,
#define TERNARY(name, ...) name,
#define REDUCE(name, ...) name,
#define VIEW(name, ...) name,
#define SPECIAL(name, ...) name,
#include "baretile/ops.def"
};

enum class Family : u8 {
  unary,
  binary,
  ternary,
  reduce,
  view,
  external,
  constant,
  iota,
  cast,
  contraction,
  whole,  // a kernel of its own
  gather,
  scatter,
  join,
  custom
};

// What an operation takes and gives. Operands of several dtypes become the latest in DType's order first.
enum class Kind : u8 {
  floats,       // integers and booleans become fp32
  ring,         // numbers: booleans become int32; the same words for both integers
  ordered,      // numbers, where int32 and uint32 differ
  equality,     // anything; gives boolean
  comparison,   // anything; gives boolean; int32 and uint32 differ
  test,         // floats; gives boolean
  logic,        // booleans: others are compared with zero first; gives boolean
  bits,         // integers; the same words for both
  signed_bits,  // integers, where int32 and uint32 differ
  choice        // a boolean, and words of any dtype
};

struct OpRow {
  const char* name;
  Family family;
  const char* doc;
  Kind kind = Kind::choice;
  const char* fold = "";  // reductions: the header that takes one more element in
  double identity = 0;
};

inline constexpr std::array kOps = {
#define UNARY(name, doc, kind, ...) OpRow{#name, Family::unary, doc, Kind::kind},
#define BINARY(name, doc, kind, ...) OpRow{#name, Family::binary, doc, Kind::kind},
#define TERNARY(name, doc, kind, ...) OpRow{#name, Family::ternary, doc, Kind::kind},
#define REDUCE(name, doc, kind, identity, fold, ...) OpRow{#name, Family::reduce, doc, Kind::kind, #fold, identity},
#define VIEW(name, doc) OpRow{#name, Family::view, doc},
#define SPECIAL(name, family, doc) \
  OpRow{#name, Family::family, doc, Family::family == Family::custom ? Kind::floats : Kind::choice},
#include "baretile/ops.def"
};

constexpr const OpRow& info(Op op) { return kOps[size_t(op)]; }

constexpr bool gives_boolean(Kind kind) {
  return kind == Kind::equality || kind == Kind::comparison || kind == Kind::test || kind == Kind::logic;
}
// The ending of the kernel header that does an operation on operands of a dtype.
constexpr const char* header_ending(Kind kind, DType operands) {
  if (!is_integer(operands) || kind == Kind::choice) return "";
  const bool signless = kind == Kind::ring || kind == Kind::equality || kind == Kind::bits;
  return signless || operands == DType::int32 ? "_int" : "_uint";
}

}  // namespace baretile::compiler
