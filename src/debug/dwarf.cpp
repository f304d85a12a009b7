#include "debug/dwarf.h"

#include <map>

namespace baretile::debug {
namespace {

// DWARF version 4, section 7.5 and 7.21: the codes used here.
constexpr u32 kInlinedSubroutine = 0x1D;  // a tag; then attributes, forms, opcodes of line programs
constexpr u32 kLowPc = 0x11, kHighPc = 0x12, kRanges = 0x55, kCallFile = 0x58, kCallLine = 0x59;
constexpr u32 kAddr = 0x01, kData2 = 0x05, kData4 = 0x06, kData8 = 0x07, kString = 0x08, kData1 = 0x0B, kFlag = 0x0C;
constexpr u32 kSdata = 0x0D, kStrp = 0x0E, kUdata = 0x0F, kRef4 = 0x13, kSecOffset = 0x17, kExprloc = 0x18;
constexpr u32 kFlagPresent = 0x19;
constexpr u8 kExtended = 0, kCopy = 1, kAdvancePc = 2, kAdvanceLine = 3, kSetFile = 4, kConstAddPc = 8,
             kFixedAdvance = 9;
constexpr u8 kEndSequence = 1, kSetAddress = 2;

[[noreturn]] void not_understood(const char* what, u32 value) {
  throw SystemError(
      fmt::format("the linked kernel's debug information has {} {:#x}, which is not read here; use another clang", what,
                  value),
      {});
}

struct Abbreviation {
  u32 tag = 0;
  bool children = false;
  std::vector<std::pair<u32, u32>> attributes;  // and forms
};

std::map<u32, Abbreviation> read_abbreviations(Bytes table) {
  std::map<u32, Abbreviation> out;
  while (const u32 code = table.uleb()) {
    Abbreviation& a = out[code];
    a.tag = table.uleb();
    a.children = table.take<u8>() != 0;
    for (;;) {
      const u32 attribute = table.uleb(), form = table.uleb();
      if (attribute == 0 && form == 0) break;
      a.attributes.emplace_back(attribute, form);
    }
  }
  return out;
}

u32 read_value(Bytes& info, u32 form) {
  if (form == kData1 || form == kFlag) return info.take<u8>();
  if (form == kData2) return info.take<u16>();
  if (form == kAddr || form == kData4 || form == kStrp || form == kRef4 || form == kSecOffset) return info.take<u32>();
  if (form == kData8) return u32(info.take<u64>());
  if (form == kSdata) return u32(info.sleb());
  if (form == kUdata) return info.uleb();
  if (form == kString) info.text();
  if (form == kExprloc) info.skip(info.uleb());
  if (form != kString && form != kExprloc && form != kFlagPresent) not_understood("form", form);
  return 0;
}

// The registers of the line number program, DWARF version 4, section 6.2.
class LineProgram {
 public:
  LineProgram(Bytes program, LineTable& table) : program_(program), table_(table) {}

  void run() {
    const u32 begin = u32(program_.at()), length = program_.take<u32>(), version = program_.take<u16>();
    if (version != 4) not_understood("line table version", version);
    const u32 header = program_.take<u32>(), body = u32(program_.at()) + header;
    min_instruction_ = program_.take<u8>();
    program_.skip(2);  // instructions per bundle; whether lines begin as statements
    line_base_ = program_.take<signed char>();
    line_range_ = program_.take<u8>();
    opcode_base_ = program_.take<u8>();
    if (line_range_ == 0 || opcode_base_ == 0) not_understood("line range", 0);
    operands_ = {0};
    for (u32 i = 1; i < opcode_base_; ++i) operands_.push_back(program_.take<u8>());
    read_files();
    program_ = program_.part(0, begin + 4 + u64{length});
    program_.skip(body);
    while (program_.left() > 0) step();
  }

 private:
  void read_files() {
    std::vector<std::string> folders{""};
    for (std::string folder; !(folder = program_.text()).empty();) folders.push_back(folder + "/");
    table_.files = {""};
    for (std::string name; !(name = program_.text()).empty();) {
      const u32 folder = program_.uleb();
      program_.uleb();
      program_.uleb();
      table_.files.push_back((folder < folders.size() && !name.starts_with("/") ? folders[folder] : "") + name);
    }
  }
  void emit() {  // the row so far reaches up to here
    if (open_ && address_ > row_.first) {
      row_.end = address_;
      table_.ranges.push_back(row_);
    }
    row_ = {address_, 0, file_, line_};
    open_ = true;
  }
  void extended() {
    const u32 bytes = program_.uleb();
    Bytes operand = program_.part(program_.at(), bytes);
    program_.skip(bytes);
    const u8 opcode = operand.take<u8>();
    if (opcode == kSetAddress) address_ = operand.take<u32>();
    if (opcode != kEndSequence) return;
    emit();
    open_ = false;
    address_ = 0, file_ = 1, line_ = 1;
  }
  void step() {
    const u8 opcode = program_.take<u8>();
    if (opcode >= opcode_base_) {
      const u32 adjusted = opcode - opcode_base_;
      address_ += adjusted / line_range_ * min_instruction_;
      line_ += u32(line_base_ + i32(adjusted % line_range_));
      return emit();
    }
    if (opcode == kExtended) return extended();
    if (opcode == kCopy) return emit();
    if (opcode == kAdvancePc) return void(address_ += program_.uleb() * min_instruction_);
    if (opcode == kAdvanceLine) return void(line_ += u32(program_.sleb()));
    if (opcode == kSetFile) return void(file_ = program_.uleb());
    if (opcode == kConstAddPc) return void(address_ += (255u - opcode_base_) / line_range_ * min_instruction_);
    if (opcode == kFixedAdvance) return void(address_ += program_.take<u16>());
    for (u32 i = 0; i < operands_[opcode]; ++i) program_.uleb();
  }

  Bytes program_;
  LineTable& table_;
  std::vector<u8> operands_;
  u32 min_instruction_ = 1, line_range_ = 1, opcode_base_ = 1;
  i32 line_base_ = 0;
  u32 address_ = 0, file_ = 1, line_ = 1;
  LineRange row_;
  bool open_ = false;
};

}  // namespace

LineTable read_lines(Bytes debug_line) {
  LineTable table;
  LineProgram(debug_line, table).run();
  return table;
}

std::vector<InlinedCall> read_inlined_calls(Bytes info, Bytes debug_abbrev, Bytes debug_ranges) {
  std::vector<InlinedCall> out;
  const u32 length = info.take<u32>(), version = info.take<u16>();
  if (version != 4) not_understood("version", version);
  Bytes table = debug_abbrev;
  table.skip(info.take<u32>());
  info.skip(1);  // bytes of an address
  const std::map<u32, Abbreviation> abbreviations = read_abbreviations(table);
  u32 unit_low = 0;
  for (u32 depth = 0, dies = 0; info.at() < u64{length} + 4; ++dies) {
    const u32 code = info.uleb();
    if (code == 0) {
      if (depth > 0) --depth;
      continue;
    }
    const auto found = abbreviations.find(code);
    if (found == abbreviations.end()) not_understood("abbreviation", code);
    const Abbreviation& a = found->second;
    InlinedCall call{.depth = depth};
    bool in_ranges = false;
    u32 ranges = 0;
    for (const auto& [attribute, form] : a.attributes) {
      const u32 value = read_value(info, form);
      if (attribute == kLowPc) call.first = value;
      if (attribute == kHighPc) call.end = form == kAddr ? value : call.first + value;
      if (attribute == kCallFile) call.file = value;
      if (attribute == kCallLine) call.line = value;
      if (attribute == kRanges) in_ranges = true, ranges = value;
    }
    if (dies == 0) unit_low = call.first;
    if (a.tag == kInlinedSubroutine && !in_ranges) out.push_back(call);
    if (a.tag == kInlinedSubroutine && in_ranges) {
      Bytes list = debug_ranges;
      for (list.skip(ranges);;) {
        const u32 first = list.take<u32>(), end = list.take<u32>();
        if (first == 0 && end == 0) break;
        out.push_back({depth, unit_low + first, unit_low + end, call.file, call.line});
      }
    }
    depth += a.children;
  }
  return out;
}

}  // namespace baretile::debug
