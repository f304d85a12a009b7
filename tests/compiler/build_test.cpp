#include <gmock/gmock.h>
#include <sys/wait.h>

#include <thread>

#include "baretile/error.h"
#include "compiler/build_support.h"

namespace baretile::compiler {
namespace {

using testing::HasSubstr;

TEST_F(BuildTest, ImagesComeBackInOrderAndEqualSourcesAreCompiledOnce) {
  const std::vector<KernelSource> sources{{"a", kernel(1)}, {"b", kernel(2)}, {"c", kernel(1)}};
  const std::vector<KernelImage> images = build_kernels(sources, options());
  ASSERT_EQ(images.size(), 3);
  EXPECT_EQ(images[0].name, "a");
  EXPECT_EQ(images[2].name, "c");
  EXPECT_EQ(images[0].key, images[2].key);
  EXPECT_EQ(images[0].code, images[2].code);
  EXPECT_NE(images[0].key, images[1].key);
  EXPECT_NE(images[0].code, images[1].code);
  EXPECT_EQ(compilations(), 2);
}

TEST_F(BuildTest, AWarmStartDoesNotStartClangAtAll) {
  const KernelImage cold = build(kernel(1));
  const int before = starts();
  const KernelImage warm = build(kernel(1));
  EXPECT_EQ(starts(), before);
  EXPECT_EQ(warm.code, cold.code);
  EXPECT_EQ(warm.entry, cold.entry);
  EXPECT_EQ(warm.key, cold.key);
}

TEST_F(BuildTest, AChangedSourceOrCompilerIsAnotherKernel) {
  build(kernel(1));
  build(kernel(2));
  EXPECT_EQ(compilations(), 2);
  write_script(folder_ / "bin/clang", "if [ \"$1\" = --version ]; then echo 'clang version 99.0'; exit 0; fi\n" +
                                          read_file(folder_ / "bin/clang").substr(10));
  build(kernel(1));
  EXPECT_EQ(compilations(), 3);
}

TEST_F(BuildTest, DebuggingIsAskedForByTheEnvironmentAndIsAnotherKernel) {
  const std::string key = build(kernel(1)).key;
  setenv("BARETILE_DEBUG", "1", 1);
  const KernelImage debug = build(kernel(1));
  setenv("BARETILE_DEBUG", "yes", 1);
  EXPECT_THROW(build(kernel(1)), UsageError);
  setenv("BARETILE_DEBUG", "0", 1);
  EXPECT_EQ(build(kernel(1)).key, key);
  unsetenv("BARETILE_DEBUG");
  EXPECT_TRUE(debug.debug);
  EXPECT_NE(debug.key, key);
  EXPECT_EQ(compilations(), 2);
  EXPECT_EQ(files(".elf").size(), 1) << "the linked file with lines, of the debugging one only";
}

TEST_F(BuildTest, DamagedAndTornEntriesAreRebuilt) {
  const KernelImage image = build(kernel(1));
  const fs::path entry = files(".kernel").at(0);
  const std::string whole = read_file(entry);
  std::string flipped = whole;
  flipped[flipped.size() - 5] ^= 1;
  std::string renamed = whole;
  renamed[12] ^= 1;  // the first entry point
  int expected = 1;
  for (const std::string& bad :
       {flipped, renamed, whole.substr(0, whole.size() / 2), whole.substr(0, 3), std::string(), whole + "x"}) {
    write_file(entry, bad);
    EXPECT_EQ(build(kernel(1)).code, image.code);
    EXPECT_EQ(compilations(), ++expected);
    EXPECT_EQ(read_file(entry), whole);
  }
}

TEST_F(BuildTest, ColdProcessesShareTheWork) {
  std::vector<pid_t> children;
  for (int p = 0; p < 3; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<KernelSource> sources;
      for (int k = 0; k < 4; ++k) sources.push_back({"k", kernel(k)});
      try {
        _exit(build_kernels(sources, options()).size() == 4 ? 0 : 1);
      } catch (const Error&) {
        _exit(2);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(compilations(), 4) << "each kernel once in all";
}

std::string computing_kernel(int value) { return "#include \"compute.h\"\n" + kernel(value); }
std::vector<KernelSource> computing_kernels() {  // as many as precompiled headers pay for
  std::vector<KernelSource> sources;
  for (int k = 0; k < 4; ++k) sources.push_back({"k", computing_kernel(k)});
  return sources;
}

TEST_F(BuildTest, ManyKernelsAreCompiledAgainstPrecompiledHeadersToTheSameCode) {
  std::vector<KernelSource> sources{{"user", kernel(0)}};
  for (int k = 1; k < 5; ++k) sources.push_back({"k", computing_kernel(k)});
  std::vector<KernelImage> alone;
  for (const KernelSource& source : sources) alone.push_back(build(source.text));
  EXPECT_EQ(starts("c++-header"), 0) << "one kernel after another does not pay for it";
  fs::remove_all(cache());
  const std::vector<KernelImage> together = build_kernels(sources, options());
  EXPECT_EQ(starts("c++-header"), 1);
  EXPECT_EQ(starts("-include-pch"), 4) << "what does not begin with the header is compiled without it";
  for (size_t k = 0; k < sources.size(); ++k) EXPECT_EQ(together[k].code, alone[k].code);
  build(computing_kernel(5));
  EXPECT_EQ(starts("-include-pch"), 5);
  EXPECT_EQ(starts("c++-header"), 1);
}

TEST_F(BuildTest, ADamagedPrecompiledHeaderIsMadeAgain) {
  const std::vector<KernelSource> sources = computing_kernels();
  const KernelImage right = build_kernels(sources, options()).front();
  for (const auto& f : fs::recursive_directory_iterator(cache()))
    if (f.path().extension() == ".pch") write_file(f.path(), "CPCH of another world");
  for (const fs::path& entry : files(".kernel")) fs::remove(entry);
  EXPECT_EQ(build_kernels({sources.data(), 1}, options()).front().code, right.code);
  build_kernels(sources, options());
  EXPECT_EQ(starts("c++-header"), 1) << "three were missing, which does not pay";
  for (const fs::path& entry : files(".kernel")) fs::remove(entry);
  EXPECT_EQ(build_kernels(sources, options()).front().code, right.code);
  EXPECT_EQ(starts("c++-header"), 2);
}

TEST_F(BuildTest, AWrongSourceLeavesThePrecompiledHeaderAlone) {
  build_kernels(computing_kernels(), options());
  EXPECT_THROW(build("#include \"compute.h\"\nint wrong = x;\n"), CompileError);
  build(computing_kernel(9));
  EXPECT_EQ(starts("-include-pch"), 6);
}

TEST_F(BuildTest, ThreadsShareTheWork) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { build(kernel(7)); });
  threads.clear();
  EXPECT_EQ(compilations(), 1);
}

TEST_F(BuildTest, WithoutClangCachedKernelsStillWork) {
  const KernelImage image = build(kernel(1));
  fs::remove(folder_ / "bin/clang");
  EXPECT_EQ(build(kernel(1)).code, image.code);
  try {
    build_kernels(computing_kernels(), options());
    FAIL() << "no error";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("apt-get install clang lld"));
  }
}

TEST_F(BuildTest, WithoutClangAndCacheTheErrorSaysWhatToInstall) {
  fs::remove(folder_ / "bin/clang");
  try {
    build(kernel(1));
    FAIL() << "no error";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), HasSubstr("apt-get install clang lld"));
  }
}

// Root may write anywhere, so the work is done by a child that is nobody.
TEST_F(BuildTest, AReadOnlyFolderServesWhatItHoldsAndNamesTheWayOut) {
  build(kernel(1));
  fs::permissions(cache(),
                  fs::perms::all & ~(fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write));
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(10);
    try {
      if (build(kernel(1)).code.empty()) _exit(11);
    } catch (const Error&) {
      _exit(12);
    }
    try {
      build_kernels(computing_kernels(), options());
      _exit(13);
    } catch (const SystemError& error) {
      _exit(std::string(error.what()).find("BARETILE_CACHE_DIR") == std::string::npos ? 14 : 0);
    } catch (...) {
      _exit(15);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "exit status in the second byte, or a signal";
  fs::permissions(cache(), fs::perms::all);
}

TEST_F(BuildTest, AFolderThatCannotExistIsASystemError) {
  write_file(folder_ / "file", "");
  BuildOptions bad = options();
  bad.cache_folder = folder_ / "file/cache";
  const KernelSource source{"k", kernel(1)};
  EXPECT_THROW(build_kernels({&source, 1}, bad), SystemError);
}

TEST_F(BuildTest, AnErrorCarriesSourcePathCommandAndWhatClangSaid) {
  try {
    build("extern \"C\" void kernel_brisc(const unsigned*) { undeclared(); }");
    FAIL() << "no error";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.output, HasSubstr("undeclared"));
    EXPECT_THAT(error.command, HasSubstr("-march=rv32im_zba_zbb"));
    EXPECT_THAT(read_file(error.source_path), HasSubstr("undeclared();"));
    EXPECT_THAT(error.what(), HasSubstr(error.source_path));
  }
  EXPECT_TRUE(files(".kernel").empty());
}

TEST_F(BuildTest, OneBadKernelDoesNotSpoilTheOthers) {
  const std::vector<KernelSource> sources{{"good", kernel(1)}, {"bad", "nonsense"}};
  EXPECT_THROW(build_kernels(sources, options()), CompileError);
  EXPECT_NO_THROW(build(kernel(1)));
}

TEST_F(BuildTest, HeadersThatWereDamagedAreWrittenAgain) {
  build(kernel(1));
  fs::path header;
  for (const auto& f : fs::recursive_directory_iterator(cache()))
    if (f.path().filename() == "abi.h") header = f.path();
  const std::string text = read_file(header);
  write_file(header, "#error damaged");
  build(kernel(2));
  EXPECT_EQ(read_file(header), text);
  fs::remove(header);
  build(kernel(3));
  EXPECT_EQ(read_file(header), text);
}

TEST_F(BuildTest, KernelsMayIncludeEverythingThatIsEmbedded) {
  EXPECT_NO_THROW(
      build("#include \"baretile/isa/isa.h\"\n#include \"baretile/isa/mmio.h\"\n#include \"baretile/isa/noc.h\"\n" +
            kernel(1)));
}

}  // namespace
}  // namespace baretile::compiler
