#include "noc/coord.h"

#include <gtest/gtest.h>

namespace baretile {
namespace {

TEST(Coord, NamesATileAsErrorsPrintIt) { EXPECT_EQ(noc::name({3, 4}), "tile 3-4"); }

}  // namespace
}  // namespace baretile
