// The operations of a graph, from ops.def. Stages behind the graph ask for an operation's family, never for its name.
#pragma once
#include <array>
#include <limits>

#include "baretile/bits.h"

namespace baretile::compiler {

enum class Op : u8 {
#define UNARY(name, ...) name,
#define BINARY(name, ...) name,
#define REDUCE(name, ...) name,
#define VIEW(name, ...) name,
#define SPECIAL(name, ...) name,
#include "baretile/ops.def"
};

enum class Family : u8 { unary, binary, reduce, view, external, constant, cast, contraction, gather, scatter, join };

struct OpRow {
  const char* name;
  Family family;
  const char* doc;
};

inline constexpr std::array kOps = {
#define UNARY(name, doc, ...) OpRow{#name, Family::unary, doc},
#define BINARY(name, doc, ...) OpRow{#name, Family::binary, doc},
#define REDUCE(name, doc, ...) OpRow{#name, Family::reduce, doc},
#define VIEW(name, doc) OpRow{#name, Family::view, doc},
#define SPECIAL(name, family, doc) OpRow{#name, Family::family, doc},
#include "baretile/ops.def"
};

constexpr const OpRow& info(Op op) { return kOps[size_t(op)]; }

}  // namespace baretile::compiler
