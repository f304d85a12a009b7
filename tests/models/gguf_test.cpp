#include "models/gguf.h"

#include <gmock/gmock.h>

#include "models/support.h"

namespace baretile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using W = GgufWriter;

std::string complaint_about(const std::string& bytes) {
  const TempFile file(bytes, "bad.gguf");
  const std::string message = message_of<UsageError>([&] { Gguf gguf(file.path()); });
  if (message.starts_with(file.path() + ": ")) return message.substr(file.path().size() + 2);
  return "does not name the file: " + message;
}

std::string complaint_about(const W& writer) { return complaint_about(writer.bytes()); }

TEST(Gguf, GivesBackMetadataOfEveryType) {
  W writer;
  writer.add("u8", W::kU8, raw<u8>(200)).add("i8", W::kI8, raw<signed char>(-5)).add("u16", W::kU16, raw<u16>(65000));
  writer.add("i16", W::kI16, raw<int16_t>(-300)).add("i32", W::kI32, raw<i32>(-70000)).add("u32", 4000000000u);
  writer.add("u64", W::kU64, raw<u64>(1ull << 40)).add("i64", W::kI64, raw<i64>(-(1ll << 40))).add("f32", 0.5f);
  writer.add("f64", W::kF64, raw(0.1)).add("yes", true).add("no", false).add("text", std::string("a\nb"));
  writer.add("ints", std::vector<i32>{3, -1}).add("texts", std::vector<std::string>{"x", "", "yz"});
  writer.add("bytes", W::kArray, raw<u32>(W::kU8) + raw<u64>(2) + std::string("\x07\xFF"));
  writer.add("none", W::kArray, raw<u32>(W::kString) + raw<u64>(0));
  const TempFile file(writer.bytes());
  const Gguf gguf(file.path());
  EXPECT_EQ(gguf.integer("u8"), 200);
  EXPECT_EQ(gguf.integer("i8"), -5);
  EXPECT_EQ(gguf.integer("u16"), 65000);
  EXPECT_EQ(gguf.integer("i16"), -300);
  EXPECT_EQ(gguf.integer("i32"), -70000);
  EXPECT_EQ(gguf.integer("u32"), 4000000000);
  EXPECT_EQ(gguf.integer("u64"), 1ll << 40);
  EXPECT_EQ(gguf.integer("i64"), -(1ll << 40));
  EXPECT_EQ(gguf.real("f32"), 0.5);
  EXPECT_EQ(gguf.real("f64"), 0.1);
  EXPECT_TRUE(gguf.boolean("yes"));
  EXPECT_FALSE(gguf.boolean("no"));
  EXPECT_EQ(gguf.text("text"), "a\nb");
  EXPECT_THAT(gguf.integers("ints"), ElementsAre(3, -1));
  EXPECT_THAT(gguf.integers("bytes"), ElementsAre(7, 255));
  EXPECT_THAT(gguf.texts("texts"), ElementsAre("x", "", "yz"));
  EXPECT_TRUE(gguf.texts("none").empty());
  EXPECT_FALSE(gguf.has("other"));
}

TEST(Gguf, NamesKeyAndFileWhenMetadataAreMissingOrOfAnotherKind) {
  const TempFile file(W().add("n", 1u).bytes());
  const Gguf gguf(file.path());
  EXPECT_THAT(message_of<UsageError>([&] { gguf.integer("llama.block_count"); }),
              AllOf(HasSubstr(file.path()), HasSubstr("'llama.block_count'")));
  EXPECT_THAT(message_of<UsageError>([&] { gguf.text("n"); }), HasSubstr("'n' is not a string"));
}

TEST(Gguf, FindsTensorsWithTheOutermostDimensionFirst) {
  const TempFile file(W().tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}).tensor("b", {1}, {7}).bytes());
  const Gguf gguf(file.path());
  const StoredTensor& a = gguf.tensor("a");
  EXPECT_THAT(a.shape, ElementsAre(2, 3));
  EXPECT_EQ(a.rows(), 2u);
  std::vector<float> row(3);
  read_rows(a, 1, row);
  EXPECT_THAT(row, ElementsAre(4, 5, 6));
  row.resize(1);
  read_rows(gguf.tensor("b"), 0, row);
  EXPECT_THAT(row, ElementsAre(7));
  EXPECT_THAT(message_of<UsageError>([&] { gguf.tensor("c"); }),
              AllOf(HasSubstr(file.path()), HasSubstr("no tensor 'c'")));
}

TEST(Gguf, FollowsTheFilesOwnAlignment) {
  std::string bytes = W().add("general.alignment", 64u).tensor("a", {1}, {9}).bytes();
  bytes.insert(bytes.size() - 4, (64 - (bytes.size() - 4) % 64) % 64, '\0');
  const TempFile file(bytes);
  std::vector<float> value(1);
  read_rows(Gguf(file.path()).tensor("a"), 0, value);
  EXPECT_EQ(value[0], 9);
}

TEST(Gguf, RefusesWhatIsNoGguf) {
  EXPECT_THAT(complaint_about(""), HasSubstr("does not start with GGUF"));
  EXPECT_THAT(complaint_about("PK\3\4 something else"), HasSubstr("does not start with GGUF"));
  W old;
  old.version = 2;
  EXPECT_THAT(complaint_about(old), HasSubstr("GGUF version 2"));
  old.version = 0x03000000;
  EXPECT_THAT(complaint_about(old), HasSubstr("0x3000000), only little-endian version 3"));
}

TEST(Gguf, RefusesAbsurdCountsBeforeAllocating) {
  W writer;
  writer.tensors = 1ull << 60;
  EXPECT_THAT(complaint_about(writer), HasSubstr("the tensor count is 1152921504606846976"));
  W keys;
  keys.extra_keys = ~0ull;
  EXPECT_THAT(complaint_about(keys), HasSubstr("the metadata count is 18446744073709551615"));
  EXPECT_THAT(complaint_about(W().add("k", W::kArray, raw<u32>(W::kU8) + raw<u64>(1ull << 50))),
              HasSubstr("the element count of metadata 'k' is 1125899906842624"));
  EXPECT_THAT(complaint_about(W().add("k", W::kString, raw<u64>(~0ull) + "abc")),
              HasSubstr("metadata 'k' is 18446744073709551615 bytes long"));
  EXPECT_THAT(complaint_about(W().add(std::string(70000, 'k'), 1u)), HasSubstr("metadata key 0 is 70000 bytes long"));
}

TEST(Gguf, RefusesMetadataThatMeanNothing) {
  EXPECT_THAT(complaint_about(W().add("k", 13, "")), HasSubstr("metadata 'k' has the unknown value type 13"));
  EXPECT_THAT(complaint_about(W().add("k", W::kBool, "\2")), HasSubstr("metadata 'k' is 2, neither false nor true"));
  EXPECT_THAT(complaint_about(W().add("k", W::kU64, raw(~0ull))),
              HasSubstr("metadata 'k' is 18446744073709551615, beyond 63 bits"));
  EXPECT_THAT(complaint_about(W().add("k", W::kArray, raw<u32>(W::kArray) + raw<u64>(0))),
              HasSubstr("array of arrays"));
  EXPECT_THAT(complaint_about(W().add("k", 1u).add("k", 2u)), HasSubstr("metadata 'k' is there twice"));
  EXPECT_THAT(complaint_about(W().add("general.alignment", 24u)), HasSubstr("general.alignment is 24"));
  EXPECT_THAT(complaint_about(W().add("general.alignment", 0u)), HasSubstr("general.alignment is 0"));
}

TEST(Gguf, RefusesTensorsThatDoNotFitTheFile) {
  const std::string four(16, '\0');
  EXPECT_THAT(complaint_about(W().tensor("t", 12, {1, 256}, four)),
              AllOf(HasSubstr("tensor 't' has ggml type 12"), HasSubstr("convert the model"), HasSubstr("Q4_1")));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {}, four)), HasSubstr("tensor 't' has 0 dimensions"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {1, 1, 1, 1, 1}, four)), HasSubstr("tensor 't' has 5 dimensions"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {4, 0}, four)),
              HasSubstr("tensor 't' has the impossible shape [4, 0]"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {1ull << 40, 1ull << 40}, four)), HasSubstr("the impossible shape"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {1ull << 62}, four)), HasSubstr("the impossible shape"));
  EXPECT_THAT(complaint_about(W().tensor("t", 2, {1, 48}, four)),
              HasSubstr("tensor 't' has rows of 48, not a multiple of Q4_0's"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {5}, four)),
              HasSubstr("tensor 't' takes 20 bytes at offset 0, but the data are 16"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {4}, four, 32)), HasSubstr("at offset 32, but the data are 16 bytes"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {4}, four, -32)), HasSubstr("offset 18446744073709551584, but"));
  EXPECT_THAT(complaint_about(W().tensor("t", 0, {1}, four, 4)),
              HasSubstr("tensor 't' starts at offset 4, not a multiple of 32"));
  EXPECT_THAT(complaint_about(W().tensor("t", {1}, {1}).tensor("t", {1}, {1})), HasSubstr("tensor 't' is there twice"));
}

W small_file() {
  W writer;
  writer.add("text", std::string("hello")).add("n", 7u).add("list", std::vector<std::string>{"a", "bc"});
  return writer.tensor("w", 2, {2, 32}, std::string(36, '\1'));
}

TEST(Gguf, RefusesAFileCutAnywhere) {
  const std::string whole = small_file().bytes();
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_THAT(complaint_about(whole.substr(0, size)), Not(HasSubstr("nothing was thrown"))) << "cut to " << size;
}

TEST(Gguf, RefusesMetadataThatLackTheirLastByte) {
  const std::string whole = W().add("k", std::string("last")).bytes();  // nothing after it but padding
  const size_t end = whole.find("last") + 4;
  EXPECT_THAT(complaint_about(whole.substr(0, end)), HasSubstr("nothing was thrown"));
  EXPECT_THAT(complaint_about(whole.substr(0, end - 1)), HasSubstr("metadata 'k' needs 4 bytes"));
}

TEST(Gguf, ReadsOrRefusesAFileWithAnyByteChanged) {
  const std::string whole = small_file().bytes();
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit : {1, 0x80, 0xFF}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ bit);
      const TempFile file(bytes);
      try {
        const Gguf gguf(file.path());
        for (const auto& [name, tensor] : gguf.tensors()) {
          std::vector<float> all(tensor.rows() * tensor.columns());
          read_rows(tensor, 0, all);
        }
      } catch (const UsageError&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace baretile
