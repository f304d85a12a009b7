#include "explain/disasm.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <set>

#include "baretile/abi.h"
#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"
#include "baretile/isa/table.h"

namespace baretile::viz {
namespace {

struct Row {
  const char* name;
  u32 match, mask;
  const char* operands;
};

constexpr Row kRows[] = {
#define RV(name, match, mask, operands) {name, match, mask, operands},
#include "explain/riscv.def"
#undef RV
};

const Row* find_row(u32 word) {
  for (const Row& row : kRows)
    if ((word & row.mask) == row.match) return &row;
  return nullptr;
}

constexpr const char* kRegisters[] = {"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                      "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                      "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};

// The fields of a RISC-V word, where an instruction has them.
u32 rd(u32 word) { return extract(word, 7, 5); }
u32 rs1(u32 word) { return extract(word, 15, 5); }
u32 rs2(u32 word) { return extract(word, 20, 5); }
i32 load_offset(u32 word) { return i32(word) >> 20; }
i32 store_offset(u32 word) { return i32(word & 0xFE000000) >> 20 | i32(rd(word)); }
i32 branch_distance(u32 word) {
  return i32(word & 0x80000000) >> 19 |
         i32(extract(word, 7, 1) << 11 | extract(word, 25, 6) << 5 | extract(word, 8, 4) << 1);
}
i32 jump_distance(u32 word) {
  return i32(word & 0x80000000) >> 11 |
         i32(extract(word, 12, 8) << 12 | extract(word, 20, 1) << 11 | extract(word, 21, 10) << 1);
}

std::string place(i32 distance, std::optional<u32> pc) {
  return pc ? fmt::format("{:#x}", *pc + u32(distance))
            : fmt::format(". {} {}", distance < 0 ? '-' : '+', std::abs(distance));
}

std::string operand(char kind, u32 word, std::optional<u32> pc) {
  switch (kind) {
    case 'd':
      return kRegisters[rd(word)];
    case 's':
      return kRegisters[rs1(word)];
    case 't':
      return kRegisters[rs2(word)];
    case 'i':
      return fmt::format("{}", load_offset(word));
    case 'u':
      return fmt::format("{:#x}", word >> 12);
    case 'h':
      return fmt::format("{}", rs2(word));
    case 'c':
      return fmt::format("{:#x}", word >> 20);
    case 'z':
      return fmt::format("{}", rs1(word));
    case 'l':
      return fmt::format("{}({})", load_offset(word), kRegisters[rs1(word)]);
    case 'w':
      return fmt::format("{}({})", store_offset(word), kRegisters[rs1(word)]);
    case 'b':
      return place(branch_distance(word), pc);
    default:
      return place(jump_distance(word), pc);
  }
}

constexpr u32 kOpLoad = 0x03, kOpStore = 0x23, kOpBranch = 0x63, kOpJal = 0x6F, kOpJalr = 0x67, kOpAuipc = 0x17;
u32 opcode(u32 word) { return word & 0x7F; }

// Where a jump goes; far ones are an auipc and a jalr.
std::optional<u32> target_of(u32 word, u32 pc, u32 previous) {
  if (opcode(word) == kOpBranch) return pc + u32(branch_distance(word));
  if (opcode(word) == kOpJal) return pc + u32(jump_distance(word));
  if (opcode(word) == kOpJalr && opcode(previous) == kOpAuipc && rd(previous) == rs1(word))
    return pc - 4 + (previous & 0xFFFFF000) + u32(load_offset(word));
  return {};
}

// What a Tensix instruction does to a configuration register.
std::string tensix_note(u32 word) {
  const isa::InsnInfo* info = isa::find_insn(word >> 24);
  if (!info) return {};
  if (info->name == "SETC16") {
    const auto o = isa::decode<isa::SETC16>(word);
    return register_text(o.Reg, true, o.Value);
  }
  if (info->name.starts_with("RMWCIB")) {
    const auto o = isa::decode<isa::RMWCIB0>(word);
    const u32 shift = 8 * u32(info->name.back() - '0');
    return register_text(o.CfgReg, false, o.Data << shift, o.Mask << shift);
  }
  if (info->name == "WRCFG") {
    const auto o = isa::decode<isa::WRCFG>(word);
    return fmt::format("cfg[{}] = GPR {}", o.CfgReg, o.Gpr);
  }
  return {};
}

constexpr std::pair<u32, const char*> kNiuNames[] = {
    {isa::kNiuTargLo, "TargLo"}, {isa::kNiuTargMid, "TargMid"}, {isa::kNiuTargCoord, "TargCoord"},
    {isa::kNiuRetLo, "RetLo"},   {isa::kNiuRetMid, "RetMid"},   {isa::kNiuRetCoord, "RetCoord"},
    {isa::kNiuTag, "Tag"},       {isa::kNiuCtrl, "Ctrl"},       {isa::kNiuLen, "Len"},
    {isa::kNiuLen2, "Len2"},     {isa::kNiuData, "Data"},       {isa::kNiuCmd, "Cmd"}};

std::string niu_note(u32 offset) {
  const u32 noc = offset / isa::kNiuStride, at = offset % isa::kNiuStride;
  for (const auto& [reg, name] : kNiuNames)
    if (at < isa::kNiuCommandBuffers * isa::kNiuCommandStride && at % isa::kNiuCommandStride == reg)
      return fmt::format("NoC {} {} of buffer {}", noc, name, at / isa::kNiuCommandStride);
  return fmt::format("NoC {} + {:#x}", noc, at);
}

// What lies at an address that a core sees.
std::string address_note(u32 address, std::optional<u32> stored) {
  if (address >= isa::kConfig) {
    const u32 word = (address - isa::kConfig) / 4;
    const std::string name = fmt::format("cfg[{}]", word);
    if (!stored) return name;
    const std::string fields = register_text(word, false, *stored);
    return fmt::format("{} = {:#x}{}{}", name, *stored, fields.empty() ? "" : ": ", fields);
  }
  if (address >= isa::kNiuBase && address < isa::kNiuBase + 2 * isa::kNiuStride)
    return niu_note(address - isa::kNiuBase) + (stored ? fmt::format(" = {:#x}", *stored) : "");
  if (address >= isa::kPushInsn && address < isa::kPcBufDrain - 4)
    return stored ? "push " + tensix_text(*stored) : "push a Tensix instruction";
  if (address == isa::kPcBufDrain) return "until the thread's Tensix instructions are done";
  if (address >= isa::kPcBufSemaphore && address < isa::kPcBufSemaphore + 32)
    return fmt::format("semaphore {}", (address - isa::kPcBufSemaphore) / 4);
  if (address >= isa::kGpr && address < isa::kGpr + 256) return fmt::format("GPR {}", (address - isa::kGpr) / 4);
  if (address >= isa::kMopConfig && address < isa::kMopConfig + 36)
    return fmt::format("MOP configuration {}{}", (address - isa::kMopConfig) / 4,
                       stored ? ": " + tensix_text(*stored) : "");
  if (address >= abi::kMailbox && address < abi::kMailbox + sizeof(abi::Mailbox))
    return fmt::format("mailbox + {:#x}", address - abi::kMailbox);
  return fmt::format("[{:#x}]", address);
}

// Which registers hold values that the code alone tells, along a straight line of it.
class Constants {
 public:
  void forget() { known_.fill({}); }
  // What a load or store goes to; then follows what the instruction does to the registers.
  std::string follow(u32 word) {
    std::string note;
    const std::optional<u32> base = get(rs1(word));
    if (opcode(word) == kOpStore) {
      if (base) note = address_note(*base + u32(store_offset(word)), get(rs2(word)));
      return note;
    }
    if (opcode(word) == kOpLoad && base) note = address_note(*base + u32(load_offset(word)), {});
    if (opcode(word) != kOpBranch) known_[rd(word)] = value(word);
    return note;
  }

 private:
  std::optional<u32> get(u32 number) const { return number == 0 ? std::optional<u32>(0) : known_[number]; }
  std::optional<u32> value(u32 word) const {
    const std::optional<u32> a = get(rs1(word)), b = get(rs2(word));
    const std::string_view name = find_row(word) ? find_row(word)->name : "";
    if (name == "lui") return word & 0xFFFFF000;
    if (name == "li") return u32(load_offset(word));
    if (name == "mv" && a) return *a;
    if (name == "addi" && a) return *a + u32(load_offset(word));
    if (name == "slli" && a) return *a << rs2(word);
    if (name == "add" && a && b) return *a + *b;
    return {};
  }
  std::array<std::optional<u32>, 32> known_{};
};

}  // namespace

std::string disassemble(u32 word, std::optional<u32> pc) {
  const Row* row = find_row(word);
  if (!row) return fmt::format(".word {:#010x}", word);
  std::string text = row->name;
  for (const char* kind = row->operands; *kind; ++kind)
    text += (kind == row->operands ? " " : ", ") + operand(*kind, word, pc);
  return text;
}

std::string tensix_text(u32 instruction) {
  const isa::InsnInfo* info = isa::find_insn(instruction >> 24);
  if (!info) return fmt::format(".tensix {:#010x}", instruction);
  std::string text(info->name);
  if (info->unit == isa::Unit::None) return text + fmt::format(" {:#08x}", instruction & 0xFFFFFF);
  for (const isa::FieldInfo& field : info->fields())
    if (const u32 value = extract(instruction, field.lo, field.width)) text += fmt::format(" {}={}", field.name, value);
  if (const u32 unknown = instruction & ~info->known_bits()) text += fmt::format(" reserved={:#x}", unknown);
  return text;
}

std::string register_text(u32 word, bool thread, u32 value, u32 mask) {
  std::string text;
  for (const isa::RegisterField& field : isa::kRegisterFields) {
    const u32 bits = mask_bits(field.width) << field.lo;
    if (field.word != word || field.thread != thread || (bits & mask) == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, extract(value, field.lo, field.width));
  }
  return text;
}

std::vector<CodeLine> disassemble(std::span<const u8> code, std::span<const u32> entries) {
  std::vector<CodeLine> lines;
  std::set<u32> joins(entries.begin(), entries.end());  // where registers hold who knows what
  for (u32 offset = 0; offset + 4 <= code.size(); offset += 4) {
    CodeLine line{offset, 0, {}, {}, {}, false};
    std::memcpy(&line.word, code.data() + offset, 4);
    line.tensix = is_pushed(line.word) && isa::find_insn(pushed(line.word) >> 24);
    if (!is_pushed(line.word)) line.target = target_of(line.word, offset, lines.empty() ? 0 : lines.back().word);
    if (line.target) joins.insert(*line.target);
    lines.push_back(std::move(line));
  }
  Constants constants;
  for (CodeLine& line : lines) {
    if (joins.contains(line.offset)) constants.forget();
    line.text = line.tensix ? tensix_text(pushed(line.word)) : disassemble(line.word, line.offset);
    line.note = line.tensix ? tensix_note(pushed(line.word)) : constants.follow(line.word);
    if (opcode(line.word) == kOpJal || opcode(line.word) == kOpJalr) constants.forget();
  }
  return lines;
}

}  // namespace baretile::viz
