// RISC-V words decoded once: eight bytes an instruction, a page of them beside each page of L1 that code runs from.
#pragma once
#include <memory>
#include <string>

#include "baretile/bits.h"

namespace baretile::sim {

enum class Op : u8 {
  undecoded,  // zero: what a fresh page and an overwritten word hold
  page_end,   // sentinel after the last instruction of a page
  illegal,    // imm is the word
  ttinsn,     // imm is the Tensix word, rotated back
#define RV(name, handler, argument, match, mask) name,
#include "sim/rv32/rv32.def"
#undef RV
};

inline constexpr u8 kDiscard = 32;  // rd of an instruction that writes x0

struct Insn {
  Op op = Op::undecoded;
  u8 rd = 0, rs1 = 0, rs2 = 0;
  i32 imm = 0;
};

inline constexpr u32 kPageBytes = 4096, kPageWords = kPageBytes / 4;

struct CodePage {
  Insn insns[kPageWords + 1];
  CodePage() { insns[kPageWords].op = Op::page_end; }
};

Insn decode(u32 word);

// A backward jump over at most kSpinSpan instructions may close a loop that does nothing but poll, unless a store
// (through another register than sp), an atomic, a CSR access or a push stands inside. Such a jump is marked, in a
// field it does not use otherwise, and the core looks closer when it takes it (Core::try_to_sleep).
inline constexpr u32 kSpinSpan = 64;
inline bool may_spin(const Insn& jump) { return (jump.op == Op::jal ? jump.rs1 : jump.rd) == 1; }
// The decoded word at `address`, marked if it is such a jump; `l1` is the memory it comes from.
Insn decode_at(const u8* l1, u32 address);

std::string disassemble(u32 word);  // for messages: name, registers and immediate

}  // namespace baretile::sim
