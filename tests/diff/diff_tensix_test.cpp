// Random Tensix programs end alike on ttsim and on the simulator in this tree: same L1, same refusals, same deadlocks.
#include <gtest/gtest.h>

#include <cstdlib>

#include "diff/diff_vectors.h"
#include "diff/player.h"
#include "diff/tensix_random.h"

namespace baretile::diff {
namespace {

using CaseMaker = Case (*)(u64 seed);

std::vector<Case> make_cases(CaseMaker make, u64 first_seed, u32 count) {
  std::vector<Case> cases;
  for (u32 i = 0; i < count; i++) cases.push_back(make(first_seed + i));
  return cases;
}

// Other seeds: --gtest_random_seed=N.
void compare(CaseMaker make, u32 count) {
  const char* ttsim = std::getenv("TTSIM");
  if (!ttsim) GTEST_SKIP() << "TTSIM names no libttsim.so";
  setenv("BARETILE_SIM_GRID", "140x8", 1);
  const std::vector<Case> cases = make_cases(make, 1'000'000 + u64(GTEST_FLAG_GET(random_seed)) * 10'000, count);
  const std::vector<Outcome> theirs = play_on_library(ttsim, cases, 8000, 1),
                             ours = play_on_library(BARETILE_BINARY_DIR "/lib/libbaretile_sim.so", cases, 8000, 1);
  for (size_t i = 0; i < cases.size(); i++) {
    ASSERT_EQ(ours[i].end, theirs[i].end)
        << cases[i].name << "\nttsim: " << theirs[i].message << "\nhere: " << ours[i].message;
    if (theirs[i].end != Outcome::End::done) continue;
    ASSERT_EQ(ours[i].output, theirs[i].output) << cases[i].name;
  }
}

TEST(DiffTensix, RandomUnpacksEndAlike) { compare(random_unpack, 200); }
TEST(DiffTensix, RandomPacksEndAlike) { compare(random_pack, 200); }
TEST(DiffTensix, RandomThreadsEndAlike) { compare(random_sync, 200); }

// Of each case: seed, end, hash of the output; for tests/sim, which run without ttsim.
void record(CaseMaker make, u32 count, const std::string& file) {
  const char* ttsim = std::getenv("TTSIM");
  ASSERT_TRUE(ttsim) << "TTSIM names no libttsim.so";
  const std::vector<Outcome> outcomes = play_on_library(ttsim, make_cases(make, 1, count), 8000, 1);
  std::vector<u32> words;
  for (u32 i = 0; i < count; i++) {
    const bool done = outcomes[i].end == Outcome::End::done;
    words.insert(words.end(), {1 + i, u32(outcomes[i].end), done ? outcomes[i].hash() : 0});
  }
  write_vectors(file, words);
}

// --gtest_also_run_disabled_tests --gtest_filter='*DiffTensix*RecordsVectors'
TEST(DiffTensix, DISABLED_RecordsVectors) {
  record(random_unpack, 400, "unpack.bin");
  record(random_pack, 400, "pack.bin");
  record(random_sync, 300, "sync.bin");
}

}  // namespace
}  // namespace baretile::diff
