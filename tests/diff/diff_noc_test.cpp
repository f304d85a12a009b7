// Random NoC requests leave the same memory, counters and registers on ttsim and on the simulator in this tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/diff_noc_case.h"
#include "diff/diff_vectors.h"

namespace baretile::diff {
namespace {

std::vector<NocCase> noc_cases(u32 count) {
  noc::Generator generator(u32(GTEST_FLAG_GET(random_seed)) + 1);
  std::vector<NocCase> made(count);
  for (NocCase& c : made) c = generator.make();
  return made;
}

// Other cases: --gtest_random_seed=N.
TEST(DiffNoc, RandomRequestsEndAlike) {
  const char* ttsim = std::getenv("TTSIM");
  if (!ttsim) GTEST_SKIP() << "TTSIM names no libttsim.so";
  const std::vector<NocCase> all = noc_cases(1000);
  const auto work = [&](Simulator& sim) { return run_noc(sim, all); };
  const std::vector<u32> theirs = run_in_child(ttsim, work), ours = run_in_child(in_tree_simulator(), work);
  ASSERT_EQ(theirs.size(), 2 * all.size());
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t k = 0; k < all.size(); ++k) {
    ASSERT_EQ(ours[2 * k], theirs[2 * k]) << "loads of case " << k;
    ASSERT_EQ(ours[2 * k + 1], theirs[2 * k + 1]) << "memory after case " << k;
  }
}

// Writes tests/sim/vectors/noc.bin: --gtest_also_run_disabled_tests --gtest_filter='*RecordsVectors'
TEST(DiffNoc, DISABLED_RecordsVectors) {
  const char* ttsim = std::getenv("TTSIM");
  ASSERT_TRUE(ttsim) << "TTSIM names no libttsim.so";
  const std::vector<NocCase> all = noc_cases(300);
  const std::vector<u32> theirs = run_in_child(ttsim, [&](Simulator& sim) { return run_noc(sim, all); });
  std::vector<u32> file = {u32(all.size())};
  for (size_t k = 0; k < all.size(); ++k) {
    file.push_back(u32(all[k].size()));
    for (const NocStep& step : all[k]) file.insert(file.end(), {step.address, step.value});
    file.insert(file.end(), {theirs[2 * k], theirs[2 * k + 1]});
  }
  write_vectors("noc.bin", file);
}

}  // namespace
}  // namespace baretile::diff
