#include "sim/tensix/frontend.h"

#include <gmock/gmock.h>

#include <vector>

#include "baretile/isa/isa.h"
#include "sim/fault.h"

namespace baretile::sim {
namespace {

constexpr u32 kNop = isa::encode(isa::NOP{});
constexpr u32 tagged(u32 tag) { return isa::encode(isa::SETC16{.Value = tag, .Reg = 1}); }

std::vector<u32> drain(Frontend& f) {
  std::vector<u32> words;
  while (f.fetch()) words.push_back(f.word);
  return words;
}

std::vector<u32> expand(std::vector<u32> config, std::vector<u32> pushes) {
  Frontend f;
  for (u32 i = 0; i < config.size(); i++) f.write_mop_config(i, config[i]);
  for (u32 word : pushes) f.push(word);
  const auto words = drain(f);
  EXPECT_TRUE(f.idle() && f.mop_idle());
  return words;
}

// MOPExpander.md, ExpandTemplate1, line by line.
std::vector<u32> page_template1(std::vector<u32> m) {
  std::vector<u32> out;
  u32 loop = m[5], inner = m[1];
  const u32 flip = m[6] == kNop ? 0 : m[5] ^ m[6];
  if (m[6] != kNop) inner *= 2;
  for (u32 j = 0; j < m[0]; j++) {
    if (m[2] != kNop) out.push_back(m[2]);
    for (u32 i = 0; i < inner; i++) {
      out.push_back(i != inner - 1 ? loop : j != m[0] - 1 ? m[8] : m[7]);
      loop ^= flip;
    }
    if (m[3] != kNop) {
      out.push_back(m[3]);
      if (m[4] != kNop) out.push_back(m[4]);
    }
  }
  return out;
}

TEST(Frontend, ExpandsTheDoubleLoopAsThePageDoes) {
  for (u32 variant = 0; variant < 64; variant++) {
    std::vector<u32> m = {1 + variant % 3, 1 + variant % 5};
    for (u32 k = 2; k < 9; k++) m.push_back(k < 7 && variant >> (k - 2) & 1 ? kNop : tagged(k));
    EXPECT_EQ(expand(m, {isa::encode(isa::MOP{.MopType = 1})}), page_template1(m)) << variant;
  }
}

TEST(Frontend, ExpandsTheMaskedLoopAsThePageDoes) {
  for (u32 flags = 0; flags < 4; flags++) {
    std::vector<u32> m = {0, flags};
    for (u32 k = 2; k < 9; k++) m.push_back(tagged(k));
    std::vector<u32> expected;
    const u32 mask = 0x0003'0005;
    for (u32 i = 0; i <= 19; i++) {
      const bool skip = mask >> i & 1;
      if (skip)
        expected.push_back(m[7]);
      else {
        expected.push_back(m[3]);
        if (flags & 2) expected.insert(expected.end(), {m[4], m[5], m[6]});
      }
      if (flags & 1) expected.push_back(skip ? m[8] : m[2]);
    }
    EXPECT_EQ(expand(m, {isa::encode(isa::MOP_CFG{.ZmaskHi16 = 3}),
                         isa::encode(isa::MOP{.ZmaskLoOrCount1 = 5, .LoopCount = 19})}),
              expected);
  }
}

TEST(Frontend, RecordsAndReplaysAroundTheEndOfTheBuffer) {
  const u32 load = isa::encode(isa::REPLAY{.LoadMode = 1, .Len = 3, .StartIdx = 30});
  const u32 load_and_run = isa::encode(isa::REPLAY{.LoadMode = 1, .ExecuteWhileLoading = 1, .Len = 3, .StartIdx = 30});
  const u32 play = isa::encode(isa::REPLAY{.Len = 2, .StartIdx = 31});
  EXPECT_EQ(expand({}, {load, tagged(1), tagged(2), tagged(3), play, tagged(4)}),
            (std::vector<u32>{tagged(2), tagged(3), tagged(4)}));
  EXPECT_EQ(expand({}, {load_and_run, tagged(1), tagged(2), tagged(3), play}),
            (std::vector<u32>{tagged(1), tagged(2), tagged(3), tagged(2), tagged(3)}));
}

TEST(Frontend, AMopConfigurationMustNotChangeUnderAQueuedMop) {
  Frontend f;
  f.push(isa::encode(isa::MOP{}));
  EXPECT_FALSE(f.mop_idle());
  try {
    f.write_mop_config(5, 0);
    FAIL() << "no fault";
  } catch (const Fault& problem) {
    EXPECT_EQ(problem.kind, FaultKind::missing_sync);
  }
}

TEST(Frontend, TakesPushesUntilItIsFull) {
  Frontend f;
  u32 pushed = 0;
  for (; f.can_push(); pushed++) f.push(tagged(pushed & 0xFFFF));
  EXPECT_GE(pushed, 512u);
  EXPECT_EQ(drain(f).size(), pushed);
  EXPECT_TRUE(f.can_push());
}

}  // namespace
}  // namespace baretile::sim
