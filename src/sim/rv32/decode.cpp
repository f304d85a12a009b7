#include "sim/rv32/decode.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string_view>

namespace baretile::sim {
namespace {

enum class Format { Lui, Auipc, Jal, Jalr, Branch, Load, Store, Alu, AluImm, Alu1, Amo, Csr, Fence };

struct Row {
  std::string_view name;
  Op op;
  Format format;
  u32 match, mask;
};

constexpr Row kRows[] = {
#define RV(name, handler, argument, match, mask) {#name, Op::name, Format::handler, match, mask},
#include "sim/rv32/rv32.def"
#undef RV
};

const Row* find_row(u32 word) {
  for (const Row& row : kRows)
    if ((word & row.mask) == row.match) return &row;
  return nullptr;
}

i32 immediate(u32 word, Format format) {
  const i32 top = static_cast<i32>(word);
  switch (format) {
    case Format::Lui:
    case Format::Auipc:
      return top & ~0xFFF;
    case Format::Jal:
      return (top >> 31 << 20) |
             i32(extract(word, 12, 8) << 12 | extract(word, 20, 1) << 11 | extract(word, 21, 10) << 1);
    case Format::Branch:
      return (top >> 31 << 12) | i32(extract(word, 7, 1) << 11 | extract(word, 25, 6) << 5 | extract(word, 8, 4) << 1);
    case Format::Store:
      return (top >> 25 << 5) | i32(extract(word, 7, 5));
    case Format::Csr:
    case Format::Fence:
      return i32(word >> 20);
    default:
      return top >> 20;
  }
}

bool is_jump(Op op) { return op == Op::jal || (op >= Op::beq && op <= Op::bgeu); }

bool spins(const u8* l1, u32 from, u32 to) {  // see kSpinSpan
  constexpr u32 kSp = 2;
  bool reads = from == to;
  for (u32 address = from; address < to; address += 4) {
    u32 word;
    std::memcpy(&word, l1 + address, 4);
    const u32 opcode = word & 0x7F;
    const bool store = opcode == 0x23 && extract(word, 15, 5) != kSp;
    if (store || opcode == 0x2F || opcode == 0x73 || (word & 3) != 3) return false;
    // A load, a fence as between loads, or a call of a function that loads.
    reads |= opcode == 0x03 || opcode == 0x0F || opcode == 0x6F || opcode == 0x67;
  }
  return reads;
}

}  // namespace

Insn decode(u32 word) {
  if ((word & 3) != 3) return {.op = Op::ttinsn, .imm = i32(std::rotr(word, 2))};  // PushTensixInstruction.md
  const Row* row = find_row(word);
  if (!row) return {.op = Op::illegal, .imm = i32(word)};
  Insn insn{
      .op = row->op, .rd = u8(extract(word, 7, 5)), .rs1 = u8(extract(word, 15, 5)), .rs2 = u8(extract(word, 20, 5))};
  insn.imm = immediate(word, row->format);
  if (is_jump(insn.op) && insn.imm % 4 != 0) return {.op = Op::illegal, .imm = i32(word)};
  if (insn.rd == 0) insn.rd = kDiscard;
  if (row->format == Format::Branch) insn.rd = 0;
  if (row->format == Format::Jal) insn.rs1 = 0;
  return insn;
}

Insn decode_at(const u8* l1, u32 address) {
  u32 word;
  std::memcpy(&word, l1 + address, 4);
  Insn insn = decode(word);
  if (!is_jump(insn.op) || insn.imm > 0 || insn.imm < -4 * i32(kSpinSpan) || i32(address) + insn.imm < 0) return insn;
  if (insn.op == Op::jal && insn.rd != kDiscard) return insn;
  if (spins(l1, address + insn.imm, address)) (insn.op == Op::jal ? insn.rs1 : insn.rd) = 1;
  return insn;
}

std::string disassemble(u32 word) {
  if ((word & 3) != 3) return fmt::format(".ttinsn {:#010x}", std::rotr(word, 2));
  const Row* row = find_row(word);
  if (!row) return fmt::format(".word {:#010x}", word);
  std::string_view name = row->name;
  if (name.ends_with('_')) name.remove_suffix(1);
  return fmt::format("{} rd=x{} rs1=x{} rs2=x{} imm={:#x}", name, extract(word, 7, 5), extract(word, 15, 5),
                     extract(word, 20, 5), immediate(word, row->format));
}

}  // namespace baretile::sim
