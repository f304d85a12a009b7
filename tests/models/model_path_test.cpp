#include "models/model_path.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "models/support.h"

namespace baretile {
namespace {

// Sets a variable for one test; nullptr removes it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  Variable(const Variable&) = delete;
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(CachedModel, IsUnderXdgCacheHomeOrElseUnderHome) {
  const std::string root = testing::TempDir() + "cached_model." + std::to_string(::getpid());
  std::filesystem::create_directories(root + "/.cache/baretile/models");
  std::ofstream(root + "/.cache/baretile/models/m.gguf") << "x";
  const std::string expected = root + "/.cache/baretile/models/m.gguf";
  {
    const Variable cache("XDG_CACHE_HOME", (root + "/.cache").c_str()), home("HOME", "/nonexistent");
    EXPECT_EQ(cached_model("m.gguf"), expected);
  }
  const Variable cache("XDG_CACHE_HOME", ""), home("HOME", root.c_str());
  EXPECT_EQ(cached_model("m.gguf"), expected);
  EXPECT_THAT(
      message_of<UsageError>([] { cached_model("other.gguf"); }),
      testing::AllOf(testing::HasSubstr(root), testing::HasSubstr("other.gguf is missing; run tools/get-model")));
  std::filesystem::remove_all(root);
}

TEST(CachedModel, SaysWhatToSetWhenThereIsNoHome) {
  const Variable cache("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  EXPECT_THAT(message_of<UsageError>([] { cached_model(); }),
              testing::HasSubstr("neither XDG_CACHE_HOME nor HOME is set"));
}

}  // namespace
}  // namespace baretile
