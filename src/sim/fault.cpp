#include "sim/fault.h"

#include <utility>

namespace baretile::sim {

std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::undefined_behaviour:
      return "UndefinedBehaviour";
    case FaultKind::uninitialised_read:
      return "UninitialisedRead";
    case FaultKind::bad_address:
      return "BadAddress";
    case FaultKind::reserved_bits:
      return "ReservedBits";
    case FaultKind::missing_sync:
      return "MissingSync";
    case FaultKind::not_modelled:
      return "NotModelled";
    case FaultKind::configuration:
      return "Configuration";
    case FaultKind::internal:
      return "Internal";
  }
  return "Unknown";
}

void fault(FaultKind kind, std::string message) { throw Fault(kind, std::move(message)); }

}  // namespace baretile::sim
