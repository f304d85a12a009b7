// Words of device code as text: RISC-V (RV32IM, Zba, Zbb, Zicsr, as clang's assembler takes it) and Tensix instructions
// with the field names of isa/tensix.def.
//   disassemble(0x00150513) is "addi a0, a0, 1"; tensix_text(0x28004004) is "ELWADD DstRow=4 AddrMod=1"
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "baretile/bits.h"

namespace baretile::viz {

// One RISC-V word at address `pc`; without one, jumps are given as distances (". + 8"). What is no instruction is
// ".word 0x…".
std::string disassemble(u32 word, std::optional<u32> pc = {});

// A Tensix instruction, its opcode in bits 31:24. Fields that are zero are left out.
std::string tensix_text(u32 instruction);

// A TRISC pushes a Tensix instruction by executing its word rotated left by two, which is no RISC-V instruction then.
constexpr bool is_pushed(u32 word) { return (word & 3) != 3; }
constexpr u32 pushed(u32 word) { return word >> 2 | word << 30; }

// The fields of a configuration word (`thread`: of a ThreadConfig register) that `mask` covers: "SrcA=5 SrcB=5". Empty
// where no field has a name.
std::string register_text(u32 word, bool thread, u32 value, u32 mask = ~0u);

struct CodeLine {
  u32 offset = 0, word = 0;
  std::string text, note;     // note: what is known of the operands, such as the register that is written
  std::optional<u32> target;  // offset of the line that a jump goes to
  bool tensix = false;
};

// A whole image that starts at offset 0; `entries` are where its functions begin. Words that are no multiple of four
// bytes from the start are dropped.
std::vector<CodeLine> disassemble(std::span<const u8> code, std::span<const u32> entries = {});

}  // namespace baretile::viz
