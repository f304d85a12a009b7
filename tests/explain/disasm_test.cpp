// The disassembler against clang's assembler, which makes every printed instruction the same word again, and against
// the words that Tenstorrent's own macros make.
#include "explain/disasm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>

#include "compiler/build_support.h"
#include "support/temporary_folder.h"

namespace baretile::viz {
namespace {

namespace fs = std::filesystem;
using compiler::read_file;
using compiler::write_file;

struct Row {
  const char* name;
  u32 match, mask;
};
constexpr Row kRows[] = {
#define RV(name, match, mask, operands) {name, match, mask},
#include "explain/riscv.def"
#undef RV
};

class Disasm : public testing::Test {
 protected:
  void SetUp() override { tools_ = compiler::find_toolchain(compiler::KernelCache(folder_), std::getenv("PATH")); }

  std::vector<u32> assemble(const std::string& text) const {
    write_file(folder_ / "in.s", text);
    const auto done =
        compiler::run_process({tools_.clang, "--target=riscv32-unknown-elf", "-march=rv32im_zba_zbb", "-mno-relax",
                               "-nostdlib", "--ld-path=" + tools_.lld, "-Wl,--oformat=binary,-Ttext=0",
                               (folder_ / "in.s").string(), "-o", (folder_ / "out").string()},
                              std::chrono::seconds(60));
    EXPECT_EQ(done.exit_code, 0) << done.output;
    const std::string bytes = read_file(folder_ / "out");
    std::vector<u32> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), 4 * words.size());
    return words;
  }

  const TemporaryFolder own_;
  const fs::path& folder_ = own_.path();
  compiler::Toolchain tools_;
};

TEST_F(Disasm, ClangMakesEveryPrintedInstructionTheSameWordAgain) {
  std::mt19937 random(1);
  std::vector<u32> words;
  std::string text = ".globl _start\n_start:\n";
  for (const Row& row : kRows) {
    for (int n = 0; n < (row.mask == ~0u ? 1 : 20); ++n) {
      words.push_back((u32(random()) & ~row.mask) | row.match);
      EXPECT_EQ(disassemble(words.back()).find(".word"), std::string::npos) << row.name;
      std::string line = disassemble(words.back());
      if (const size_t dot = line.find(". "); dot != std::string::npos)  // clang takes a distance as a mere number
        line.replace(dot, 4, line[dot + 2] == '-' ? "-" : "");
      text += line + "\n";
    }
  }
  const std::vector<u32> made = assemble(text);
  ASSERT_EQ(made.size(), words.size());
  for (size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(made[i], words[i]) << fmt::format("{:#010x} {}", words[i], disassemble(words[i]));
}

TEST_F(Disasm, EveryWordOfCompiledCodeIsAnInstruction) {
  const compiler::KernelSource source{"k", R"(#include "kernel.h"
using namespace baretile::kernel;
extern "C" void kernel_trisc1(const baretile::u32* args) {
  issue<encode(ELWADD{.DstRow = 4, .AddrMod = 1})>();
  set_thread_config<1, 5>();
  config(1) = args[0] % 7;
  config(2) = 3;
})"};
  const auto image = compiler::build_kernels({&source, 1}, {.cache_folder = folder_}).front();
  std::string tensix, notes;
  for (const CodeLine& line : disassemble(image.code)) {
    EXPECT_TRUE(line.word == 0 || line.text.find(".word") == std::string::npos) << line.text;
    if (line.tensix) tensix += line.text + "\n";
    if (!line.note.empty()) notes += line.note + "\n";
  }
  EXPECT_EQ(tensix, "ELWADD DstRow=4 AddrMod=1\nSETC16 Value=5 Reg=1\n");
  EXPECT_THAT(notes, testing::HasSubstr("DEST_TARGET_REG_CFG_MATH_Offset=5\n"));
  EXPECT_THAT(notes, testing::HasSubstr("cfg[1]\n"));
  EXPECT_THAT(notes, testing::HasSubstr(
                         "cfg[2] = 0x3: ALU_ACC_CTRL_Zero_Flag_disabled_src=1 ALU_ACC_CTRL_Zero_Flag_disabled_dst=1 "));
}

TEST(DisasmTensix, PrintsWhatTenstorrentsMacrosMean) {
  std::ifstream file(BARETILE_SOURCE_DIR "/tests/isa/witness.txt");
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    std::string name, field, value, word;
    std::istringstream(line) >> name >> field >> value >> word;
    if (line.empty() || line[0] == '#' || value == "0") continue;
    EXPECT_EQ(tensix_text(u32(std::stoul(word, nullptr, 16))), name + " " + field + "=" + value);
    ++count;
  }
  EXPECT_GT(count, 300u);
}

TEST(DisasmTensix, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(tensix_text(0xFF000000), ".tensix 0xff000000");
  EXPECT_EQ(tensix_text(0x28001000), "ELWADD reserved=0x1000");
  EXPECT_EQ(disassemble(0xFFFFFFFF), ".word 0xffffffff");
  EXPECT_EQ(register_text(9999, false, 1), "");
}

TEST(DisasmNotes, NameTheRegistersThatAStoreGoesTo) {
  const u32 words[] = {0xFFB31537, 0x00100593, 0x84B52023};  // lui a0, 0xffb31; li a1, 1; sw a1, -1984(a0)
  const auto lines = disassemble({reinterpret_cast<const u8*>(words), sizeof(words)});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].note, "NoC 1 Cmd of buffer 1 = 0x1");
}

TEST(DisasmJumps, GoWhereTheWordSays) {
  EXPECT_EQ(disassemble(0xFED482E3, 0x18C), "beq s1, a3, 0x170");
  EXPECT_EQ(disassemble(0xFED482E3), "beq s1, a3, . - 28");
  const u32 far_call[] = {0x00000317, 0x48830067};  // auipc t1, 0; jr 1160(t1)
  const auto lines = disassemble({reinterpret_cast<const u8*>(far_call), sizeof(far_call)});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].target, std::optional<u32>(1160));
}

}  // namespace
}  // namespace baretile::viz
