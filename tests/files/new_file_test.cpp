#include "files/new_file.h"

#include <gmock/gmock.h>

#include "models/support.h"

namespace baretile {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(NewFile, IsThereWholeOrNotAtAll) {
  const std::string folder = testing::TempDir() + "new_file", path = folder + "/it";
  std::filesystem::create_directory(folder);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  {
    NewFile file(path);
    file.write("half of ");
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(files(), 0);
  std::ofstream(path) << "before";
  NewFile file(path), other(path);
  file.write("all");
  other.write("other");
  EXPECT_EQ(other.size(), 5u);
  EXPECT_EQ(content(path), "before");
  file.commit();
  EXPECT_EQ(content(path), "all");
  other.commit();
  EXPECT_EQ(content(path), "other");
  EXPECT_EQ(files(), 1);
  std::filesystem::remove_all(folder);
}

TEST(NewFile, SaysWhereItCannotBe) {
  const std::string path = testing::TempDir() + "no-such-folder/it";
  EXPECT_THAT(message_of<SystemError>([&] { NewFile file(path); }), testing::StartsWith(path + ": creating the file"));
}

}  // namespace
}  // namespace baretile
