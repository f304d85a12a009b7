// Plays generated math cases on ttsim and on the simulator in this tree, and keeps what ttsim answered as vectors for
// machines without it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "diff/diff_sim.h"
#include "diff/diff_vectors.h"
#include "diff/math_cases.h"
#include "diff/player.h"

namespace baretile::diff {

using CaseMaker = Case (*)(u32 seed);

inline std::vector<Case> make_cases(CaseMaker make, u32 first_seed, u32 count) {
  std::vector<Case> cases;
  for (u32 i = 0; i < count; i++) cases.push_back(make(first_seed + i));
  return cases;
}

// Other seeds: --gtest_random_seed=N; more cases: --gtest_repeat.
inline void compare_with_ttsim(CaseMaker make, u32 count) {
  const char* ttsim = std::getenv("TTSIM");
  if (!ttsim) GTEST_SKIP() << "TTSIM names no libttsim.so";
  setenv("BARETILE_SIM_GRID", "140x8", 1);
  const u32 first_seed = 1 + u32(GTEST_FLAG_GET(random_seed)) * 100000 +
                         u32(testing::UnitTest::GetInstance()->current_test_info()->line()) * 1000;
  const std::vector<Case> cases = make_cases(make, first_seed, count);
  const std::vector<Outcome> theirs = play_on_library(ttsim, cases, 20000, 1),
                             ours = play_on_library(in_tree_simulator().c_str(), cases, 20000, 1);
  for (size_t i = 0; i < cases.size(); i++) {
    ASSERT_EQ(theirs[i].end, Outcome::End::done) << cases[i].name << " on ttsim: " << theirs[i].message;
    ASSERT_EQ(ours[i].end, Outcome::End::done) << cases[i].name << ": " << ours[i].message;
    const auto at = std::mismatch(ours[i].output.begin(), ours[i].output.end(), theirs[i].output.begin()).first -
                    ours[i].output.begin();
    const size_t datum = size_t(at) / (ours[i].output.size() / 1024);
    ASSERT_EQ(ours[i].output, theirs[i].output)
        << cases[i].name << ": first at row " << datum / 16 << ", column " << datum % 16;
  }
}

// File: for each case the seed and the hash of ttsim's 64 rows, preceded by the count.
inline void record_ttsim(CaseMaker make, u32 count, const std::string& file) {
  const char* ttsim = std::getenv("TTSIM");
  ASSERT_TRUE(ttsim) << "TTSIM names no libttsim.so";
  const std::vector<Outcome> theirs = play_on_library(ttsim, make_cases(make, 1, count), 20000, 1);
  std::vector<u32> words = {count};
  for (u32 i = 0; i < count; i++) {
    ASSERT_EQ(theirs[i].end, Outcome::End::done) << theirs[i].message;
    words.push_back(1 + i);
    words.push_back(hash(theirs[i].output.data(), theirs[i].output.size()));
  }
  write_vectors(file, words);
}

}  // namespace baretile::diff
