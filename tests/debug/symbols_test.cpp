#include "debug/symbols.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/build/build.h"
#include "compiler/build/clang.h"
#include "debug/linked.h"

namespace baretile::debug {
namespace {

KernelImage build(const std::string& text) {
  const compiler::KernelSource source{"lines", "#line 1 \"lines.cc\"\n" + text};
  return compiler::build_kernels(
             {&source, 1}, {.cache_folder = BARETILE_BINARY_DIR "/kernel-cache", .search_path = {}, .debug = true})
      .front();
}

const std::string kText = R"(#include "kernels/noc.h"
using namespace baretile;
using namespace baretile::kernel;
[[gnu::noinline]] static void apart(u32 n) { bt_print("apart {}", n); }
extern "C" void kernel_ncrisc(const u32* args) {
  Reader<4096> reader;
  for (const u32 item : items(args[1])) {
    if (item % 3 == 0) apart(item);
    reader.read<4096>(args[0], item);
  }
  reader.finish();
}
extern "C" void kernel_brisc(const u32* args) {
  Writer<4096> writer;
  for (const u32 item : items(args[1])) writer.write<4096>(args[0], item);
  writer.finish();
  bt_assert(args[1] < 100, args[1]);
}
)";

// What LLVM's own reader says: "file:line:column" of each frame, innermost first, and an empty line after each address.
std::vector<std::vector<Line>> expected_lines(const std::string& elf, size_t code_bytes) {
  std::vector<std::string> command{"/usr/bin/llvm-symbolizer", "--functions=none", "--obj=" + elf};
  for (size_t at = 0; at < code_bytes; at += 4) command.push_back(fmt::format("{:#x}", at));
  std::istringstream out(compiler::run_process(command, std::chrono::seconds(60)).output);
  std::vector<std::vector<Line>> frames(1);
  for (std::string text; std::getline(out, text);) {
    if (text.empty()) {
      frames.emplace_back();
      continue;
    }
    const size_t column = text.rfind(':'), line = text.rfind(':', column - 1);
    frames.back().push_back({text.substr(0, line), u32(std::stoul(text.substr(line + 1, column - line - 1)))});
  }
  frames.pop_back();
  return frames;
}

bool same_file(const std::string& ours, const std::string& theirs) {  // ours leaves the cache's folder out
  return theirs.size() >= ours.size() && theirs.substr(theirs.size() - ours.size()) == ours;
}

TEST(Symbols, GivesTheLinesAndInlinedCallsThatLlvmGives) {
  if (!std::filesystem::exists("/usr/bin/llvm-symbolizer"))
    GTEST_SKIP() << "llvm-symbolizer, which line tables are compared with, is not installed: apt-get install llvm";
  const KernelImage image = build(kText);
  const Symbols symbols(linked_with_lines(image));
  const std::string elf = std::filesystem::path(image.source).replace_extension(".elf");
  const auto expected = expected_lines(elf, image.code.size());
  ASSERT_EQ(expected.size(), image.code.size() / 4);
  size_t deepest = 0, known = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::vector<Line> lines = symbols.lines(u32(4 * i));
    if (expected[i].front().file == "??") {
      EXPECT_TRUE(lines.empty()) << 4 * i;
      continue;
    }
    ++known;
    deepest = std::max(deepest, lines.size());
    ASSERT_EQ(lines.size(), expected[i].size()) << "at " << 4 * i;
    for (size_t frame = 0; frame < lines.size(); ++frame) {
      EXPECT_EQ(lines[frame].line, expected[i][frame].line) << "at " << 4 * i << " frame " << frame;
      EXPECT_TRUE(same_file(lines[frame].file, expected[i][frame].file)) << lines[frame].file << " at " << 4 * i;
    }
  }
  EXPECT_GT(known, 100);
  EXPECT_GE(deepest, 4);
}

TEST(Symbols, KnowsThePlacesOfPrintsAndAssertions) {
  const Symbols symbols(linked_with_lines(build(kText)));
  std::vector<std::string> found;
  for (u32 id = 0; id < 100; ++id)
    if (const Site* site = symbols.site(id))
      found.push_back(fmt::format("{} \"{}\" \"{}\"", to_string(site->where), site->text, site->names));
  EXPECT_THAT(found, testing::ElementsAre("lines.cc:4 \"apart {}\" \"\"",
                                          "lines.cc:17 \"bt_assert(args[1] < 100)\" \"args[1]\""));
}

TEST(Symbols, LineTablesLeaveTheCodeAsItIsAndAreMadeWhenAsked) {
  const compiler::KernelSource source{"plain", kText};
  const std::string cache = BARETILE_BINARY_DIR "/kernel-cache";
  const KernelImage image =
      compiler::build_kernels({&source, 1}, {.cache_folder = cache, .search_path = {}, .debug = false}).front();
  const std::filesystem::path elf = std::filesystem::path(image.source).replace_extension(".elf");
  std::filesystem::remove(elf);
  EXPECT_FALSE(Symbols(linked_with_lines(image)).lines(0).empty());
  EXPECT_TRUE(std::filesystem::exists(elf));
  std::ofstream(elf) << "no ELF file";
  EXPECT_THROW(linked_with_lines(image), Error);
  std::filesystem::remove(elf);
  std::filesystem::remove(image.source);
  EXPECT_THROW(linked_with_lines(image), SystemError);
  std::filesystem::remove(std::filesystem::path(image.source).replace_extension(".kernel"));
}

TEST(Symbols, RefuseATruncatedFile) {
  const std::vector<u8> whole = linked_with_lines(build(kText));
  for (size_t bytes = 0; bytes + 400 < whole.size(); bytes += 97)
    EXPECT_THROW(Symbols(std::span(whole).first(bytes)), SystemError) << bytes;
}

}  // namespace
}  // namespace baretile::debug
