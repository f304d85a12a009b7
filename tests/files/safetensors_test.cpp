#include "files/safetensors.h"

#include <gmock/gmock.h>

#include "models/support.h"

namespace baretile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  return raw<u64>(header.size()) + header + data;
}

std::string complaint_about(const std::string& bytes) {
  const TempFile file(bytes, "bad.safetensors");
  const std::string message = message_of<UsageError>([&] { Safetensors tensors(file.path()); });
  return message.starts_with(file.path() + ": ") ? message.substr(file.path().size() + 2)
                                                 : "does not name the file: " + message;
}

const char* const kHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},)"
    R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"s":{"dtype":"F16","shape":[],"data_offsets":[20,22]}}   )";
std::string data() {
  return raw<u16>(0x3F80) + raw<u16>(0xC000) + raw(1.0f) + raw(2.0f) + raw(3.0f) + raw(4.0f) + raw<u16>(0x3800);
}

TEST(Safetensors, ReadsTensorsScalarsAndRemarks) {
  const TempFile file(file_of(kHeader, data()));
  const Safetensors tensors(file.path());
  EXPECT_EQ(tensors.metadata().at("format"), "pt");
  EXPECT_EQ(tensors.tensors().size(), 3u);
  std::vector<float> values(2);
  read_rows(tensors.tensor("a"), 1, values);
  EXPECT_THAT(values, ElementsAre(3, 4));
  read_rows(tensors.tensor("b"), 0, values);
  EXPECT_THAT(values, ElementsAre(1, -2));
  values.resize(1);
  read_rows(tensors.tensor("s"), 0, values);
  EXPECT_THAT(values, ElementsAre(0.5f));
  EXPECT_THAT(message_of<UsageError>([&] { tensors.tensor("c"); }),
              AllOf(HasSubstr(file.path()), HasSubstr("no tensor 'c'")));
}

TEST(Safetensors, RefusesHeadersThatDoNotFit) {
  EXPECT_THAT(complaint_about("short"), HasSubstr("5 bytes are too few"));
  EXPECT_THAT(complaint_about(raw<u64>(99) + "{}"), HasSubstr("the header claims 99 bytes of a file of 10"));
  EXPECT_THAT(complaint_about(raw<u64>(~0ull) + "{}"), HasSubstr("the header claims 18446744073709551615 bytes"));
  for (const char* header :
       {"", "{", "[]", "7", R"({"a":3})", R"({"a":{"dtype":"F32"}})",
        R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,4]}})", R"({"__metadata__":{"n":1}})", "{\"\xFF\":1}"})
    EXPECT_THAT(complaint_about(file_of(header, "")), HasSubstr("the header is not what safetensors prescribes"))
        << header;
}

std::string complaint_about_entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return complaint_about(
      file_of(R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
              std::string(16, '\0')));
}

TEST(Safetensors, RefusesEntriesThatDoNotFitTheData) {
  EXPECT_THAT(complaint_about_entry("F32", "[4]", "[0,16]"), HasSubstr("nothing was thrown"));
  EXPECT_THAT(complaint_about_entry("I64", "[2]", "[0,16]"), HasSubstr("tensor 't' has dtype I64"));
  EXPECT_THAT(complaint_about_entry("F32", "[4]", "[0,20]"),
              HasSubstr("tensor 't' takes 16 bytes, but its data are bytes 0 to 20 of 16"));
  EXPECT_THAT(complaint_about_entry("F32", "[5]", "[0,20]"), HasSubstr("takes 20 bytes, but"));
  EXPECT_THAT(complaint_about_entry("F32", "[4]", "[0,12]"),
              HasSubstr("takes 16 bytes, but its data are bytes 0 to 12"));
  EXPECT_THAT(complaint_about_entry("F32", "[5]", "[0,16]"),
              HasSubstr("takes 20 bytes, but its data are bytes 0 to 16"));
  EXPECT_THAT(complaint_about_entry("F32", "[4]", "[16,0]"), HasSubstr("bytes 16 to 0 of 16"));
  EXPECT_THAT(complaint_about_entry("F32", "[-4]", "[0,16]"), HasSubstr("tensor 't' has -4 for a size"));
  EXPECT_THAT(complaint_about_entry("F32", "[4.0]", "[0,16]"), HasSubstr("has 4.0 for a size"));
  EXPECT_THAT(complaint_about_entry("F32", "[4]", "[0,8,16]"), HasSubstr("has 3 data offsets"));
  EXPECT_THAT(complaint_about_entry("F32", "[0]", "[0,0]"), HasSubstr("16 bytes of data belong to no tensor"));
  EXPECT_THAT(complaint_about_entry("F32", "[0]", "[0,16]"), HasSubstr("takes 0 bytes, but"));
  EXPECT_THAT(complaint_about_entry("F32", "[4294967296,4294967296]", "[0,16]"), HasSubstr("the impossible shape"));
  EXPECT_THAT(complaint_about_entry("F32", "[3]", "[0,12]"), HasSubstr("4 bytes of data belong to no tensor"));
  EXPECT_THAT(complaint_about_entry("F32", "[3]", "[4,16]"), HasSubstr("overlap or leave a hole at data byte 0"));
}

// Bytes that safetensors.numpy.save({"b": np.zeros((0, 3), "f4"), "a": np.array([1, -1], "i4")}) of release 0.8.0
// wrote.
TEST(Safetensors, ReadsTensorsWithoutElementsBesideOthers) {
  const TempFile file(file_of(
      R"({"b":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}   )",
      raw<i32>(1) + raw<i32>(-1)));
  const Safetensors tensors(file.path());
  EXPECT_TRUE(tensors.tensor("b").data.empty());
  std::vector<float> values(2);
  read_rows(tensors.tensor("a"), 0, values);
  EXPECT_THAT(values, ElementsAre(1, -1));
}

TEST(Safetensors, WritesTheWidestTypesFirst) {
  const std::string path = testing::TempDir() + "written.safetensors";
  const auto bytes = [](const std::string& text) {
    return [text] {
      const auto span = std::as_bytes(std::span(text));
      return std::vector(span.begin(), span.end());
    };
  };
  write_safetensors(path, {{"flag", StoredType::boolean, {1}, bytes(raw<u8>(1))},
                           {"half", StoredType::bf16, {2}, bytes(raw<u16>(0x3F80) + raw<u16>(0xC000))},
                           {"full", StoredType::f32, {}, bytes(raw(2.5f))}});
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"flag":{"data_offsets":[8,9],"dtype":"BOOL","shape":[1]},)"
      R"("full":{"data_offsets":[0,4],"dtype":"F32","shape":[]},"half":{"data_offsets":[4,8],"dtype":"BF16","shape":[2]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(whole, raw<u64>(padded) + header + std::string(padded - header.size(), ' ') + raw(2.5f) + raw<u16>(0x3F80) +
                       raw<u16>(0xC000) + raw<u8>(1));
  EXPECT_EQ(Safetensors(path).metadata().at("format"), "pt");
  std::filesystem::remove(path);
}

TEST(Safetensors, RefusesAFileCutAnywhere) {
  const std::string whole = file_of(kHeader, data());
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_THAT(complaint_about(whole.substr(0, size)), Not(HasSubstr("nothing was thrown"))) << "cut to " << size;
}

}  // namespace
}  // namespace baretile
