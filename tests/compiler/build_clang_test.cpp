#include <gmock/gmock.h>

#include "baretile/error.h"
#include "compiler/build/clang.h"
#include "compiler/build_support.h"

namespace baretile::compiler {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(RunProcess, CollectsOutputAndExitCode) {
  const ProcessResult r = run_process({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 10s);
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_EQ(r.output, "out\nerr\n");
  EXPECT_EQ(run_process({"/bin/sh", "-c", "kill -9 $$"}, 10s).exit_code, 128 + 9);
}

TEST(RunProcess, KillsWhatDoesNotEnd) { EXPECT_THROW(run_process({"/bin/sleep", "30"}, 1s), SystemError); }

TEST(RunProcess, NamesAProgramThatDoesNotExist) {
  try {
    run_process({"/nowhere/clang"}, 1s);
    FAIL() << "no error";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.path, "/nowhere/clang");
    EXPECT_EQ(error.error_number, ENOENT);
  }
}

TEST_F(BuildTest, FindsVersionedCompilersWithTheirLinker) {
  fs::create_directory(folder_ / "other");
  fs::rename(folder_ / "bin/clang", folder_ / "other/clang-16");
  for (const char* name : {"ld.lld-16", "ld.lld"})
    fs::create_symlink(fs::read_symlink(folder_ / "bin/ld.lld"), folder_ / "other" / name);
  const Toolchain tools = find_toolchain(KernelCache(cache()), (folder_ / "other").string() + ":/nowhere");
  EXPECT_EQ(tools.clang, folder_ / "other/clang-16");
  EXPECT_EQ(tools.lld, folder_ / "other/ld.lld-16");
  EXPECT_THAT(tools.version, HasSubstr("clang version"));
}

TEST_F(BuildTest, RefusesACompilerThatIsTooOldOrNoClang) {
  for (const char* version : {"clang version 13.0.1", "gcc (Debian) 12.2"}) {
    write_script(folder_ / "bin/clang", std::string("echo '") + version + "'\n");
    try {
      build(kernel(1));
      FAIL() << "no error";
    } catch (const SystemError& error) {
      EXPECT_THAT(error.what(), HasSubstr(version));
    }
  }
}

TEST_F(BuildTest, AMissingLinkerIsNamed) {
  fs::remove(folder_ / "bin/ld.lld");
  try {
    build(kernel(1));
    FAIL() << "no error";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ld.lld is not in PATH"));
  }
}

}  // namespace
}  // namespace baretile::compiler
