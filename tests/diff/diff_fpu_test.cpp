// Random matrix-unit programs leave the same Dst on ttsim and on the simulator in this tree.
#include "diff/math_compare.h"

namespace baretile::diff {
namespace {

TEST(DiffFpu, RandomProgramsEndAlike) { compare_with_ttsim(fpu_case, 400); }
TEST(DiffFpu, PoolingEndsAlike) { compare_with_ttsim(pool_case, 60); }

// Writes tests/sim/vectors/{fpu,pool}.bin: --gtest_also_run_disabled_tests --gtest_filter='*RecordsVectors'
TEST(DiffFpu, DISABLED_RecordsVectors) {
  record_ttsim(fpu_case, 300, "fpu.bin");
  record_ttsim(pool_case, 40, "pool.bin");
}

}  // namespace
}  // namespace baretile::diff
