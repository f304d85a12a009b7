// Random RV32 programs give the same registers, memory and clock on ttsim and on the simulator in this tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/diff_rv32_case.h"
#include "diff/diff_vectors.h"

namespace baretile::diff {
namespace {

std::vector<Rv32Case> rv32_cases(u32 count) {
  rv32::Generator generator(u32(GTEST_FLAG_GET(random_seed)) + 1);
  std::vector<Rv32Case> made(count);
  for (Rv32Case& c : made) c = generator.make();
  return made;
}

// Other cases: --gtest_random_seed=N.
TEST(DiffRv32, RandomProgramsEndAlike) {
  const char* ttsim = std::getenv("TTSIM");
  if (!ttsim) GTEST_SKIP() << "TTSIM names no libttsim.so";
  constexpr u32 kCases = 2000;
  const std::vector<Rv32Case> all = rv32_cases(kCases);
  const auto work = [&](Simulator& sim) { return run_rv32(sim, all); };
  const std::vector<u32> theirs = run_in_child(ttsim, work), ours = run_in_child(in_tree_simulator(), work);
  ASSERT_EQ(theirs.size(), kCases * kRv32ResultWords);
  ASSERT_EQ(ours.size(), theirs.size());
  for (u32 k = 0; k < kCases; ++k) {
    const auto part = [&](const std::vector<u32>& words) {
      return std::vector<u32>(words.begin() + k * kRv32ResultWords, words.begin() + (k + 1) * kRv32ResultWords);
    };
    ASSERT_EQ(part(ours), part(theirs)) << "case " << k << ", core " << k % isa::kCores;
  }
}

// Writes tests/sim/vectors/rv32.bin: --gtest_also_run_disabled_tests --gtest_filter='*RecordsVectors'
TEST(DiffRv32, DISABLED_RecordsVectors) {
  const char* ttsim = std::getenv("TTSIM");
  ASSERT_TRUE(ttsim) << "TTSIM names no libttsim.so";
  const std::vector<Rv32Case> all = rv32_cases(400);
  const std::vector<u32> theirs = run_in_child(ttsim, [&](Simulator& sim) { return run_rv32(sim, all); });
  std::vector<u32> file = {u32(all.size())};
  for (size_t k = 0; k < all.size(); ++k) {
    file.push_back(all[k].seed);
    file.push_back(u32(all[k].body.size()));
    file.insert(file.end(), all[k].body.begin(), all[k].body.end());
    file.insert(file.end(), theirs.begin() + long(k * kRv32ResultWords),
                theirs.begin() + long((k + 1) * kRv32ResultWords));
  }
  write_vectors("rv32.bin", file);
}

}  // namespace
}  // namespace baretile::diff
