#include "sim/rv32/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/board.h"

namespace baretile::sim {
namespace {

using namespace diff::rv32;

Insn decode_last(const std::vector<u32>& words) {
  return decode_at(reinterpret_cast<const u8*>(words.data()), u32(words.size() - 1) * 4);
}

TEST(Decode, ImmediatesAreThoseClangAssembles) {       // words from clang 14, llvm-mc -triple=riscv32
  EXPECT_EQ(decode(0x80000537).imm, i32(0x80000000));  // lui a0, 0x80000
  EXPECT_EQ(decode(0xFE5FF06F).imm, -28);              // j .-28
  EXPECT_EQ(decode(0x02030263).imm, 36);               // beqz t1, .+36
  EXPECT_EQ(decode(0xFFF32383).imm, -1);               // lw t2, -1(t1)
  EXPECT_EQ(decode(0x00732023).imm, 0);                // sw t2, 0(t1)
}

TEST(Decode, ATensixWordComesBackRotated) {
  const Insn insn = decode(0xA6000405u << 2 | 0xA6000405u >> 30);
  EXPECT_EQ(insn.op, Op::ttinsn);
  EXPECT_EQ(u32(insn.imm), 0xA6000405u);
}

TEST(Decode, MarksJumpsThatMayCloseAPollingLoop) {
  EXPECT_TRUE(may_spin(decode_last({lw(5, 8, 0), b_type(-4, 6, 5, 1)})));
  EXPECT_TRUE(may_spin(decode_last({kStay})));
  EXPECT_FALSE(may_spin(decode_last({addi(5, 5, -1), b_type(-4, 0, 5, 1)}))) << "counts down without reading";
  EXPECT_FALSE(may_spin(decode_last({lw(5, 8, 0), sw(5, 8, 4), b_type(-8, 6, 5, 1)}))) << "stores";
  EXPECT_FALSE(may_spin(decode_last({lw(5, 8, 0), r_type(0, 2, 6, 5, 5, 0x2F), jal(-8, 0)}))) << "atomic";
}

TEST(Decode, DisassemblyNamesTheInstruction) {
  EXPECT_EQ(disassemble(lw(5, 8, 12)), "lw rd=x5 rs1=x8 rs2=x12 imm=0xc");
  EXPECT_EQ(disassemble(0xFFFFFFFF), ".word 0xffffffff");
  EXPECT_EQ(disassemble(0x00000008), ".ttinsn 0x00000002");
}

}  // namespace
}  // namespace baretile::sim
