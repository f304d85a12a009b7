#include "sim/rv32/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diff/diff_vectors.h"
#include "sim/board.h"

namespace baretile::sim {
namespace {

using testing::HasSubstr;
using namespace diff::rv32;

TEST(Exec, ProgramsRecordedFromTtsimEndAlike) {
  const std::vector<u32> file = diff::read_vectors("rv32.bin");
  std::vector<diff::Rv32Case> cases(file.at(0));
  std::vector<u32> expected;
  size_t at = 1;
  for (diff::Rv32Case& c : cases) {
    c.seed = file.at(at++);
    const u32 length = file.at(at++);
    c.body.assign(file.begin() + long(at), file.begin() + long(at + length));
    at += length;
    expected.insert(expected.end(), file.begin() + long(at), file.begin() + long(at + diff::kRv32ResultWords));
    at += diff::kRv32ResultWords;
  }
  ASSERT_EQ(at, file.size());
  const auto actual =
      diff::run_in_child(diff::in_tree_simulator(), [&](diff::Simulator& sim) { return diff::run_rv32(sim, cases); });
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k)
    ASSERT_EQ(actual[k], expected[k]) << "case " << k / diff::kRv32ResultWords << " word "
                                      << k % diff::kRv32ResultWords;
}

TEST(Exec, FaultsNameWhatTheyRefuse) {
  const struct {
    std::vector<u32> code;
    const char* message;
  } kCases[] = {
      {{0x00000000}, "only the TRISCs push"},
      {{0xFFFFFFFF}, "illegal or unsupported RISC-V instruction 0xffffffff"},
      {{0x00100073}, "illegal or unsupported"},  // ebreak
      {{0x0000100F}, "illegal or unsupported"},  // fence.i
      {{0x100522AF}, "illegal or unsupported"},  // lr.w
      {{0xC00022F3}, "CSR 0xc00"},               // csrr mcycle
      {{lw(5, 0, 2)}, "misaligned 4-byte load at 0x2"},
      {{i_type(1, 0, 1, 5, 0x03)}, "misaligned 2-byte load at 0x1"},
      {{sw(5, 0, 6)}, "misaligned 4-byte store at 0x6"},
      {{lui(0x180, 5), lw(6, 5, 0)}, "read at 0x180000"},
      {{lui(0xFFB20, 5), i_type(0x44, 5, 4, 6, 0x03)}, "registers take words only"},
      {{lui(0xFFB00, 5), i_type(0, 5, 0, 0, 0x67)}, "jump to 0xffb00000"},  // jr to local RAM
      {{lui(0x180, 5), i_type(0, 5, 0, 0, 0x67)}, "jump to 0x180000"},
      {{addi(5, 0, 6), i_type(0, 5, 0, 0, 0x67)}, "jump to 0x6"},
      {{lui(0xFFB00, 5), r_type(0, 2, 6, 5, 5, 0x2F)}, "atomic at 0xffb00000"},
  };
  for (const auto& c : kCases) {
    Board board;
    EXPECT_THAT(fault_of([&] { board.run_brisc(c.code); }), HasSubstr(c.message));
  }
}

TEST(Exec, AFaultLeavesThePcAtItsInstruction) {
  Board board;
  fault_of([&] { board.run_brisc({addi(1, 0, 1), addi(1, 0, 2), lw(5, 0, 2)}); });
  EXPECT_EQ(board.tile().core(0).pc, 8u);
  EXPECT_THAT(board.chip.where(), HasSubstr("tile (1,2) brisc pc 0x8: lw"));
}

TEST(Exec, CodeRunsAcrossAPageAndSeesStoresIntoItself) {
  Board board;
  board.write_code(0xFF8, {addi(1, 0, 1), addi(1, 1, 2), addi(1, 1, 4), kStay});  // ends on the next page
  board.write_code(0, {jal(0xFF8, 0)});
  board.release({isa::Core::brisc});
  board.run(100);
  EXPECT_EQ(board.tile().core(0).x[1], 7u);
  board.release({});
  board.write_code(0x1000, {addi(1, 1, 100)});  // the host overwrites code that has run
  board.release({isa::Core::brisc});
  board.run(100);
  EXPECT_EQ(board.tile().core(0).x[1], 103u);
}

TEST(Exec, OneClockIsOneInstruction) {
  Board board;
  board.load(isa::Core::brisc, {addi(1, 1, 1), addi(1, 1, 1), addi(1, 1, 1), addi(1, 1, 1), kStay});
  board.release({isa::Core::brisc});
  board.run(3);
  EXPECT_EQ(board.tile().core(0).x[1], 3u);
}

}  // namespace
}  // namespace baretile::sim
