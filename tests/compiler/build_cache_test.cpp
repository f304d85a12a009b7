#include <gmock/gmock.h>

#include "baretile/error.h"
#include "compiler/build/cache.h"
#include "compiler/build_support.h"

namespace baretile::compiler {
namespace {

// src: FIPS 180-4's "abc", with the length that add() puts before it: sha256(0300000000000000 "abc"), from Python's
// hashlib.
TEST(Sha256, HashesLengthAndBytes) {
  EXPECT_EQ(Sha256().add("abc").hex(), "ce91dc5eec0139adf091900d225971d6ad246a845bad791b5693a9d0d55dd391");
  EXPECT_NE(Sha256().add("ab").add("c").hex(), Sha256().add("a").add("bc").hex());
}

TEST_F(BuildTest, TheLeastRecentlyUsedEntriesGoFirst) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const KernelCache kept(cache());
  std::vector<std::string> keys;
  for (int k = 0; k < 4; ++k) {
    keys.push_back(std::string(64, char('a' + k)));
    kept.store({.name = "k", .code = std::vector<u8>(1000), .entry = {0}, .key = keys.back()});
    fs::last_write_time(kept.path(keys.back(), ".kernel"), old + std::chrono::minutes(k));
  }
  EXPECT_TRUE(kept.load(keys[0])) << "using it makes it the newest";
  kept.trim(2500);
  EXPECT_TRUE(kept.load(keys[0]));
  EXPECT_FALSE(kept.load(keys[1]));
  EXPECT_FALSE(kept.load(keys[2]));
  EXPECT_TRUE(kept.load(keys[3]));
}

TEST_F(BuildTest, TheCacheStaysBelowItsLimit) {
  BuildOptions small = options();
  small.cache_bytes = 3000;
  for (int k = 0; k < 20; ++k) {
    const KernelSource source{"k", kernel(k)};
    build_kernels({&source, 1}, small);
  }
  u64 bytes = 0;
  for (const char* extension : {".kernel", ".cc"})
    for (const fs::path& file : files(extension)) bytes += fs::file_size(file);
  EXPECT_LE(bytes, 3000);
  EXPECT_TRUE(files(".o").empty());
  EXPECT_TRUE(files(".elf").empty());
}

TEST(CacheRoot, FollowsTheEnvironment) {
  const auto root = [](const char* own, const char* xdg, const char* home) {
    const auto set = [](const char* name, const char* value) { value ? setenv(name, value, 1) : unsetenv(name); };
    set("BARETILE_CACHE_DIR", own);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    return cache_root().string();
  };
  EXPECT_EQ(root("/own", "/xdg", "/home/me"), "/own");
  EXPECT_EQ(root(nullptr, "/xdg", "/home/me"), "/xdg/baretile");
  EXPECT_EQ(root(nullptr, nullptr, "/home/me"), "/home/me/.cache/baretile");
  EXPECT_THROW(root(nullptr, nullptr, nullptr), SystemError);
}

}  // namespace
}  // namespace baretile::compiler
