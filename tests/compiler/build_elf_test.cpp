#include <gmock/gmock.h>

#include <cstring>

#include "baretile/error.h"
#include "compiler/build/elf.h"
#include "compiler/build_support.h"

namespace baretile::compiler {
namespace {

using testing::HasSubstr;

// What building `text` fails with.
#define EXPECT_COMPILE_ERROR(text, part)        \
  try {                                         \
    build(text);                                \
    FAIL() << "no error";                       \
  } catch (const CompileError& error) {         \
    EXPECT_THAT(error.what(), HasSubstr(part)); \
  }

TEST_F(BuildTest, EachKernelFunctionHasItsEntry) {
  const KernelImage image = build(
      "extern \"C\" void kernel_trisc1(const unsigned*) {}\nextern \"C\" void kernel_ncrisc(const unsigned*) {}\n");
  EXPECT_EQ(image.entry[0], abi::kNoEntry);
  EXPECT_EQ(image.entry[2], abi::kNoEntry);
  EXPECT_EQ(image.entry[4], abi::kNoEntry);
  ASSERT_LE(image.entry[1] + 4, image.code.size());
  ASSERT_LE(image.entry[3] + 4, image.code.size());
  for (const u32 core : {1u, 3u}) {
    u32 instruction = 0;
    std::memcpy(&instruction, &image.code[image.entry[core]], 4);
    EXPECT_EQ(instruction, 0x00008067) << "ret";
  }
}

TEST_F(BuildTest, ConstantsTravelInsideTheImage) {
  const KernelImage image = build(R"(
static const unsigned table[] = {0x11223344, 0x55667788, 0x99AABBCC, 0xDDEEFF00};
extern "C" void kernel_brisc(const unsigned* args) { *(volatile unsigned*)args[0] = table[args[1] & 3]; })");
  const std::array<u8, 8> bytes{0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55};
  EXPECT_NE(std::search(image.code.begin(), image.code.end(), bytes.begin(), bytes.end()), image.code.end());
}

TEST_F(BuildTest, WritableGlobalsAreRefused){
    EXPECT_COMPILE_ERROR("static unsigned count; extern \"C\" void kernel_brisc(const unsigned* a) { if (a[0]) "
                         "++count; *(volatile unsigned*)a[1] = count; }",
                         "a kernel must have no writable global data")}

TEST_F(BuildTest, AbsoluteAddressesAreRefused){EXPECT_COMPILE_ERROR(R"(
extern const unsigned first, second;
const unsigned* const table[] = {&first, &second};
const unsigned first = 1, second = 2;
extern "C" void kernel_brisc(const unsigned* a) { *(volatile unsigned*)a[0] = *table[a[1]]; })",
                                                                    "absolute address")}

TEST_F(BuildTest, UndefinedFunctionsAreRefused){
    EXPECT_COMPILE_ERROR("extern \"C\" void helper(); extern \"C\" void kernel_brisc(const unsigned*) { helper(); }",
                         "helper")}

TEST_F(BuildTest, ASourceWithoutKernelFunctionsIsRefused){
    EXPECT_COMPILE_ERROR("void kernel_brisc(const unsigned*) {}", "defines none of")}

TEST_F(BuildTest, AnImageLargerThanTheArenaIsRefused){
    EXPECT_COMPILE_ERROR("extern \"C\" void kernel_brisc(const unsigned*) { asm volatile(\".zero 400000\"); }",
                         "the kernel arena has")}

TEST(ReadKernelElf, RefusesWhatIsNoKernel) {
  const std::vector<u8> zeros(4096);
  EXPECT_THROW(read_kernel_elf(zeros, "k"), CompileError);
  EXPECT_THROW(read_kernel_elf({}, "k"), CompileError);
  const std::string self = read_file("/proc/self/exe");
  EXPECT_THROW(read_kernel_elf({reinterpret_cast<const u8*>(self.data()), self.size()}, "k"), CompileError)
      << "not RISC-V";
}

// Every truncation of a good file either parses to the same image or is refused.
TEST_F(BuildTest, TruncatedFilesAreRefused) {
  const Toolchain tools = find_toolchain(KernelCache(cache()), folder_ / "bin");
  write_file(folder_ / "k.cc", "extern \"C\" void kernel_brisc(const unsigned*) {}");
  ASSERT_EQ(
      run_process({tools.clang, "--target=riscv32-unknown-elf", "-nostdlib", "-mno-relax", "--ld-path=" + tools.lld,
                   "-Wl,-q,-e,0,-T," BARETILE_SOURCE_DIR "/src/compiler/build/kernel.ld", (folder_ / "k.cc").string(),
                   "-o", (folder_ / "k.elf").string()},
                  std::chrono::seconds(60))
          .exit_code,
      0);
  const std::string whole = read_file(folder_ / "k.elf");
  const std::span<const u8> bytes(reinterpret_cast<const u8*>(whole.data()), whole.size());
  EXPECT_NO_THROW(read_kernel_elf(bytes, "k"));
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_THROW(read_kernel_elf(bytes.first(size), "k"), CompileError) << size;
}

}  // namespace
}  // namespace baretile::compiler
