#include "files/mapped_file.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "models/support.h"

namespace baretile {
namespace {

TEST(MappedFile, ShowsTheBytesAndSurvivesAMove) {
  const TempFile file(std::string("abc\0d", 5));
  MappedFile mapped(file.path());
  ASSERT_EQ(mapped.bytes().size(), 5u);
  const MappedFile moved(std::move(mapped));
  EXPECT_EQ(moved.bytes()[4], std::byte{'d'});
  EXPECT_EQ(moved.path(), file.path());
}

TEST(MappedFile, ShowsAnEmptyFileAsNoBytes) {
  const TempFile file("");
  EXPECT_TRUE(MappedFile(file.path()).bytes().empty());
}

TEST(MappedFile, SaysWhichPathCannotBeMapped) {
  try {
    MappedFile mapped("/nonexistent/model.gguf");
    FAIL() << "opened a file that does not exist";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.error_number, ENOENT);
    EXPECT_EQ(error.path, "/nonexistent/model.gguf");
    EXPECT_THAT(error.what(), testing::HasSubstr("/nonexistent/model.gguf: open failed: No such file"));
  }
  EXPECT_THROW(MappedFile("/"), SystemError);
}

}  // namespace
}  // namespace baretile
