// Replays programs recorded from ttsim (tests/diff/diff_tensix_test.cpp): each must end as it did there, with the same
// L1.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/diff_vectors.h"
#include "diff/tensix_random.h"
#include "sim/coprocessor_player.h"

namespace baretile::diff {

inline void replay(Case (*make)(u64), const std::string& file) {
  const std::vector<u32> words = read_vectors(file);
  ASSERT_GT(words.size(), 600u);
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    const Case c = make(words[i]);
    const Outcome outcome = CoprocessorPlayer().play(c);
    ASSERT_EQ(u32(outcome.end), words[i + 1]) << c.name << ": " << outcome.message;
    if (outcome.end != Outcome::End::done) continue;
    ASSERT_EQ(outcome.hash(), words[i + 2]) << c.name;
  }
}

// Plays three lists and returns the fault's message, "stuck: …", or nothing if they ran to their end.
template <class Fill>
std::string play_lists(CoprocessorPlayer& player, Fill fill) {
  Case c;
  fill(c.thread[0], c.thread[1], c.thread[2]);
  const Outcome outcome = player.play(c);
  return fmt::format("{}{}", outcome.end == Outcome::End::stuck ? "stuck: " : "", outcome.message);
}
template <class Fill>
std::string play_lists(Fill fill) {
  CoprocessorPlayer player;
  return play_lists(player, fill);
}

}  // namespace baretile::diff
