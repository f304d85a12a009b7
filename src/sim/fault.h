// What the model throws when a program does something the chip forbids, or something this simulator does not model.
//   fault(FaultKind::bad_address, fmt::format("L1 write at {:#x}", addr));
#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace baretile::sim {

enum class FaultKind {
  undefined_behaviour,
  uninitialised_read,
  bad_address,
  reserved_bits,
  missing_sync,
  not_modelled,
  configuration,
  internal,
};

std::string_view name_of(FaultKind kind);  // "UndefinedBehaviour", …

// Thrown anywhere in the model, caught only at the C interface. Callers that know more add to `where`, innermost first:
// the instruction, the core and its pc, the tile.
struct Fault : std::exception {
  FaultKind kind;
  std::string message;
  std::string where;
  Fault(FaultKind kind, std::string message) : kind(kind), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }
};

[[noreturn]] void fault(FaultKind kind, std::string message);

}  // namespace baretile::sim
