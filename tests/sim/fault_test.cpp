#include "sim/fault.h"

#include <gtest/gtest.h>

namespace baretile::sim {
namespace {

TEST(Fault, CarriesItsKindAndMessage) {
  try {
    fault(FaultKind::missing_sync, "MVMUL before unpack");
    FAIL();
  } catch (const Fault& f) {
    EXPECT_EQ(name_of(f.kind), "MissingSync");
    EXPECT_STREQ(f.what(), "MVMUL before unpack");
  }
}

}  // namespace
}  // namespace baretile::sim
