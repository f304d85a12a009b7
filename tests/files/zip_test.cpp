#include "files/zip.h"

#include <gmock/gmock.h>

#include "files/recorded.h"
#include "models/support.h"

namespace baretile {
namespace {

using testing::HasSubstr;

std::string contents(const std::string& archive, size_t entry) {
  const TempFile file(archive);
  const ZipReader reader(file.path());
  const std::vector<std::byte> bytes = reader.read(reader.entries().at(entry));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What is said of an archive when all of it is read.
std::string complaint_about_archive(const std::string& archive) {
  const TempFile file(archive);
  try {
    const ZipReader reader(file.path());
    for (const ZipReader::Entry& entry : reader.entries()) reader.read(entry);
  } catch (const Error& error) {
    return std::string(error.what()).starts_with(file.path()) ? error.what() : "names no file";
  }
  return "no error";
}

// What np.savez and np.savez_compressed put in.
const std::string kArray = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
                               "000000000000803f0000004000004040"),
                  kIntegers = npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "0100000002000000");

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  EXPECT_EQ(contents(kArchive, 0), kArray);
  EXPECT_EQ(contents(kArchive, 1), kIntegers);
  EXPECT_EQ(contents(kCompressed, 0), kArray);
  const TempFile file(kArchive);
  EXPECT_EQ(ZipReader(file.path()).entries()[0].name, "w.npy");
}

TEST(Zip, ReadsWhatItWrites) {
  const std::string path = testing::TempDir() + "written.zip";
  ZipWriter writer(path);
  const std::string first = "some", second = " text";
  writer.add("a", std::as_bytes(std::span(first)), std::as_bytes(std::span(second)));
  writer.add("nothing", {}, {});
  writer.commit();
  const ZipReader reader(path);
  ASSERT_EQ(reader.entries().size(), 2u);
  EXPECT_EQ(reader.entries()[1].name, "nothing");
  EXPECT_EQ(reader.read(reader.entries()[0]).size(), 9u);
  EXPECT_TRUE(reader.read(reader.entries()[1]).empty());
  std::filesystem::remove(path);
}

TEST(Zip, ACommentMayFollow) {
  std::string archive = kArchive + "PK\5\6 is no directory";
  archive[kArchive.size() - 2] = char(archive.size() - kArchive.size());
  EXPECT_EQ(complaint_about_archive(archive), "no error");
}

TEST(Zip, SaysWhatIsNotDone) {
  const size_t end = kCompressed.size() - 22, central = size_t(u8(kCompressed[end + 16]));
  const auto changed = [&](size_t at, std::initializer_list<int> bytes) {
    std::string archive = kCompressed;
    for (const int byte : bytes) archive[at++] = char(byte);
    return complaint_about_archive(archive);
  };
  EXPECT_THAT(changed(end + 8, {255, 255, 255, 255}), HasSubstr("zip64"));
  EXPECT_THAT(changed(end + 16, {255, 255, 255, 255}), HasSubstr("zip64"));
  EXPECT_THAT(changed(central + 24, {255, 255, 255, 255}), HasSubstr("zip64"));
  EXPECT_THAT(changed(central + 8, {1}), HasSubstr("encrypted"));
  EXPECT_THAT(changed(central + 10, {12}), HasSubstr("method 12"));
  EXPECT_THAT(changed(end + 4, {1}), HasSubstr("one part of several"));
  EXPECT_THAT(changed(end + 12, {255}), HasSubstr("its directory claims"));
  EXPECT_THAT(changed(central + 42, {9}), HasSubstr("entry 'w.npy' is not at byte 9"));
  EXPECT_THAT(changed(central + 20, {255, 255}), HasSubstr("claims 65535 bytes from"));
  EXPECT_THAT(changed(central + 24, {255, 255, 255, 127}), HasSubstr("claims 2147483647 bytes made of 80"));
  EXPECT_THAT(changed(central + 24, {145}), HasSubstr("does not inflate to 145 bytes"));
  EXPECT_THAT(changed(central + 16, {0}), HasSubstr("another checksum"));
  EXPECT_THAT(complaint_about_archive("no archive at all, and longer than 22 bytes"), HasSubstr("it has no directory"));
}

TEST(Zip, RefusesAnArchiveCutAnywhere) {
  for (const std::string& whole : {kArchive, kCompressed})
    for (size_t size = 0; size < whole.size(); ++size)
      ASSERT_THAT(complaint_about_archive(whole.substr(0, size)), testing::EndsWith("write it again")) << size;
}

// Any byte changed: an error, or something that does not count (a time, a version); never other contents.
TEST(Zip, NoChangedByteChangesAnEntry) {
  for (size_t at = 0; at < kCompressed.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string archive = kCompressed;
      archive[at] = char(archive[at] ^ change);
      const std::string complaint = complaint_about_archive(archive);
      ASSERT_NE(complaint, "names no file") << at;
      if (complaint == "no error") {
        ASSERT_EQ(contents(archive, 0), kArray) << at;
      }
    }
  }
}

}  // namespace
}  // namespace baretile
