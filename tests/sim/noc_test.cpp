#include "sim/noc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/diff_noc_case.h"
#include "diff/diff_vectors.h"
#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;

TEST(Noc, RequestsRecordedFromTtsimEndAlike) {
  const std::vector<u32> file = diff::read_vectors("noc.bin");
  std::vector<diff::NocCase> cases(file.at(0));
  std::vector<u32> expected;
  size_t at = 1;
  for (diff::NocCase& c : cases) {
    c.resize(file.at(at++));
    for (diff::NocStep& step : c) step = {file.at(at), file.at(at + 1)}, at += 2;
    expected.insert(expected.end(), {file.at(at), file.at(at + 1)});
    at += 2;
  }
  ASSERT_EQ(at, file.size());
  const auto actual =
      diff::run_in_child(diff::in_tree_simulator(), [&](diff::Simulator& sim) { return diff::run_noc(sim, cases); });
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k)
    ASSERT_EQ(actual[k], expected[k]) << (k % 2 ? "memory after" : "loads of") << " case " << k / 2;
}

struct Fields {
  u32 targ = 0x40000, targ_xy = isa::noc_coord(1, 2), ret = 0x40000, ret_xy = isa::noc_coord(5, 5),
      ctrl = isa::kNocWrite, length = 64, data = 0, tag = 0;
};

std::string issue(Board& board, const Fields& f) {
  const u32 registers[][2] = {{isa::kNiuTargLo, f.targ},     {isa::kNiuTargCoord, f.targ_xy}, {isa::kNiuRetLo, f.ret},
                              {isa::kNiuRetCoord, f.ret_xy}, {isa::kNiuTag, f.tag},           {isa::kNiuCtrl, f.ctrl},
                              {isa::kNiuLen, f.length},      {isa::kNiuData, f.data},         {isa::kNiuCmd, 1}};
  return fault_of([&] {
    for (const auto& r : registers) board.write32(isa::kNiuBase + r[0], r[1]);
  });
}

TEST(Noc, RefusesWhatTtsimRefuses) {  // each of these ends ttsim v1.10
  const u32 own = isa::noc_coord(1, 2), other = isa::noc_coord(5, 5), dram = isa::noc_coord(17, 12);
  const struct {
    Fields fields;
    const char* message;
  } kCases[] = {
      {{.length = 0}, "NoC length 0"},
      {{.length = 16385}, "NoC length 16385"},
      {{.targ = 0x40004}, "differ modulo 16"},
      {{.targ = 0x4020, .targ_xy = dram, .ret = 0x40000, .ret_xy = own, .ctrl = isa::kNocRead}, "differ modulo 64"},
      {{.targ_xy = other, .ret_xy = own}, "set it to the initiator's coordinate"},
      {{.targ_xy = dram, .ret_xy = other, .ctrl = isa::kNocRead}, "set it to the initiator's coordinate"},
      {{.ret_xy = other | 1 << 12}, "NoC coordinate 0x1145"},
      {{.ret_xy = isa::noc_coord(3, 0)}, "NoC coordinate (3,0): no tile there"},
      {{.ctrl = 0x32}, "path reserve"},
      {{.ctrl = isa::kNocWrite | 1 << 8}, "path reserve"},
      {{.ctrl = isa::kNocWrite | 1 << 16}, "NOC_CTRL 0x10012"},
      {{.ctrl = isa::kNocWrite | isa::kNocIncludeSelf}, "without multicast"},
      {{.targ_xy = other, .ret_xy = own, .ctrl = 0}, "a read is marked"},
      {{.ctrl = isa::kNocWrite | 4}, "NOC_CTRL 0x16"},
      {{.tag = 1}, "NOC_PACKET_TAG 0x1"},
      {{.targ = 0x40000, .targ_xy = other, .ret_xy = own, .ctrl = isa::kNocWriteInline}, "a hardware bug on Blackhole"},
      {{.targ = 0x40000, .targ_xy = dram, .ret_xy = own, .ctrl = isa::kNocAtomic, .length = 0x107C},
       "only the L1 of a Tensix tile"},
      {{.targ = 0x40004, .targ_xy = other, .ret_xy = own, .ctrl = isa::kNocAtomic, .length = 0x107C}, "aligned to 16"},
      {{.targ = 0x40000, .targ_xy = other, .ret_xy = own, .ctrl = isa::kNocAtomic, .length = 0x107D},
       "only the 32-bit increment"},
      {{.targ = 0x17FFF0}, "is not in the initiator's L1"},
      {{.ret_xy = isa::noc_coord(5, 5) | isa::noc_coord(7, 7) << 12, .ctrl = isa::kNocMulticast}, "first <= last"},
  };
  for (const auto& c : kCases) {
    Board board;
    EXPECT_THAT(issue(board, c.fields), HasSubstr(c.message));
  }
}

TEST(Noc, MulticastCountsReceiversAndLeavesOutHarvestedColumns) {
  Board board({.tiles = 120, .banks = 8});
  const u32 all = isa::noc_rect(1, 2, 16, 11);
  EXPECT_EQ(issue(board, {.ret_xy = all, .ctrl = isa::kNocMulticast}), "no fault");
  EXPECT_EQ(board.read32(isa::kNiuBase + isa::kNiuWriteAcks), 119u);
  EXPECT_EQ(issue(board, {.ret_xy = all, .ctrl = isa::kNocMulticast | isa::kNocIncludeSelf}), "no fault");
  EXPECT_EQ(board.read32(isa::kNiuBase + isa::kNiuWriteAcks), 239u);
  EXPECT_EQ(board.read32(isa::kNiuBase + isa::kNiuWritesSent), 2u);
}

TEST(Noc, AWriteWakesACoreOfTheReceiver) {
  Board board;
  using namespace diff::rv32;
  board.load(isa::Core::brisc, {lui(0x40, 8), lw(5, 8, 0), b_type(-4, 0, 5, 0), sw(5, 8, 4), kStay}, 5, 5);
  board.release({isa::Core::brisc}, 5, 5);
  board.run(100);
  board.write32(0x40000, 77);
  EXPECT_EQ(issue(board, {.length = 4}), "no fault");
  board.run(20);
  EXPECT_EQ(board.read32(0x40004, 5, 5), 77u);
}

TEST(Noc, NodeIdsAreThoseTtsimGives) {
  Board board;
  EXPECT_EQ(board.read32(0xFFB20044), 0x10611081u);
  EXPECT_EQ(board.read32(0xFFB30044), 0x0061124Fu);
  EXPECT_EQ(board.read32(0xFFB20044, 16, 11), 0x106112D0u);
  EXPECT_EQ(board.read32(0xFFB30044, 16, 11), 0x00611000u);
}

}  // namespace
}  // namespace baretile::sim
