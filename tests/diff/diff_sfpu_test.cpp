// Random vector-unit programs leave the same registers, flags and Dst on ttsim and on the simulator in this tree.
#include "diff/math_compare.h"
#include "diff/sfpu_cases.h"

namespace baretile::diff {
namespace {

TEST(DiffSfpu, RandomProgramsEndAlike) { compare_with_ttsim(sfpu_case, 400); }
TEST(DiffSfpu, LoadsAndStoresEndAlike) { compare_with_ttsim(sfpu_dst_case, 100); }

// Writes tests/sim/vectors/{sfpu,sfpu_dst}.bin: --gtest_also_run_disabled_tests --gtest_filter='*RecordsVectors'
TEST(DiffSfpu, DISABLED_RecordsVectors) {
  record_ttsim(sfpu_case, 300, "sfpu.bin");
  record_ttsim(sfpu_dst_case, 60, "sfpu_dst.bin");
}

}  // namespace
}  // namespace baretile::diff
