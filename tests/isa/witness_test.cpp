// The instruction table against words that were not made by it: every field of every instruction has a line in witness.txt.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "baretile/isa/table.h"

namespace baretile::isa {
namespace {

struct Witness {
  std::string insn, field;
  u32 value = 0, word = 0;
};

std::vector<Witness> read_witnesses() {
  std::ifstream file(BARETILE_SOURCE_DIR "/tests/isa/witness.txt");
  std::vector<Witness> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    Witness w;
    std::string word;
    in >> w.insn >> w.field >> w.value >> word;
    w.word = static_cast<u32>(std::stoul(word, nullptr, 16));
    rows.push_back(w);
  }
  return rows;
}

const InsnInfo* find_by_name(const std::string& name) {
  for (const InsnInfo& info : kInsns)
    if (info.name == name) return &info;
  return nullptr;
}

TEST(Witness, EveryWordHasItsValueInTheFieldAndZeroElsewhere) {
  const auto rows = read_witnesses();
  ASSERT_GT(rows.size(), 300u);
  for (const Witness& w : rows) {
    const InsnInfo* info = find_by_name(w.insn);
    ASSERT_NE(info, nullptr) << w.insn;
    EXPECT_EQ(w.word >> 24, info->opcode) << w.insn;
    bool found = false;
    for (const FieldInfo& f : info->fields()) {
      const u32 got = extract(w.word, f.lo, f.width);
      EXPECT_EQ(got, f.name == w.field ? w.value : 0u) << w.insn << '.' << f.name << " in the line of " << w.field;
      found |= f.name == w.field;
    }
    EXPECT_TRUE(found) << w.insn << '.' << w.field;
    EXPECT_EQ(w.word & ~info->known_bits(), 0u) << w.insn << '.' << w.field;
  }
}

TEST(Witness, EveryFieldHasALineWithANonZeroValue) {
  std::set<std::string> seen;
  for (const Witness& w : read_witnesses())
    if (w.value) seen.insert(w.insn + '.' + w.field);
  for (const InsnInfo& info : kInsns)
    for (const FieldInfo& f : info.fields()) {
      const std::string key = std::string(info.name) + '.' + std::string(f.name);
      EXPECT_TRUE(seen.count(key)) << key;
    }
}

TEST(Table, NoOpcodeStandsTwice) {
  std::map<u32, std::string_view> names;
  for (const InsnInfo& info : kInsns) {
    EXPECT_TRUE(names.emplace(info.opcode, info.name).second) << info.name << " and " << names[info.opcode];
  }
}

// encode() and decode() of every instruction agree with the witness words, through the structs that kernels use.
TEST(Encoder, GivesTheWitnessWords) {
  const auto rows = read_witnesses();
  size_t checked = 0;
#define INSN(name, op, unit)                  \
  for (const Witness& w : rows)               \
    if (w.insn == #name) {                    \
      const auto operand = decode<name>(w.word); \
      EXPECT_EQ(encode(operand), w.word) << #name; \
      checked++;                              \
    }
#define FIELD(name, lo, width)
#define END
#define INSN_UNSUPPORTED(name, op)
#include "baretile/isa/tensix.def"
#undef INSN
#undef FIELD
#undef END
#undef INSN_UNSUPPORTED
  EXPECT_EQ(checked, rows.size());
}

TEST(Registers, FieldsOfAWordDoNotOverlap) {
  std::map<std::pair<bool, u32>, u32> used;
  for (const RegisterField& f : kRegisterFields) {
    const u32 bits = mask_bits(f.width) << f.lo;
    u32& word = used[{f.thread, f.word}];
    EXPECT_EQ(word & bits, 0u) << f.name;
    word |= bits;
  }
}

}  // namespace
}  // namespace baretile::isa
