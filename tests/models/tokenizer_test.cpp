#include "models/tokenizer.h"

#include <gmock/gmock.h>

#include <chrono>

#include "models/model_path.h"
#include "models/support.h"

namespace baretile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Vocabulary tiny_vocabulary(const std::string& pre) {
  Vocabulary vocabulary{vectors()["tiny"]["tokens"], vectors()["tiny"]["merges"], {}, pre, 0};
  for (const auto& special : vectors()["tiny"]["special"])
    vocabulary.special.push_back(
        static_cast<int>(std::ranges::find(vocabulary.tokens, special.get<std::string>()) - vocabulary.tokens.begin()));
  return vocabulary;
}

void expect_as_recorded(const Tokenizer& tokenizer, const nlohmann::json& texts) {
  ASSERT_GT(texts.size(), 40u);
  for (const auto& vector : texts) {
    const std::string text = vector["text"];
    const std::vector<int> ids = tokenizer.encode(text);
    EXPECT_EQ(ids, vector["ids"].get<std::vector<int>>()) << vector["text"];
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_EQ(tokenizer.decode(vector["ids"].get<std::vector<int>>()), vector["decoded"].get<std::string>());
  }
}

TEST(Tokenizer, EncodesAsHuggingFaceDoesWithASmallVocabulary) {
  for (const char* pre : {"smollm", "gpt-2"}) {
    SCOPED_TRACE(pre);
    expect_as_recorded(Tokenizer(tiny_vocabulary(pre)), vectors()["tiny"]["texts"][pre]);
  }
}

TEST(Tokenizer, EncodesAsHuggingFaceDoesWithTheModelsVocabulary) {
  std::string path;
  const std::string missing = message_of<UsageError>([&] { path = cached_model(); });
  if (path.empty()) GTEST_SKIP() << missing;
  const Tokenizer tokenizer{Gguf(path)};
  EXPECT_EQ(tokenizer.size(), 49152);
  EXPECT_EQ(tokenizer.end(), 2);
  expect_as_recorded(tokenizer, vectors()["smollm2"]);
  const auto first =
      std::ranges::find_if(vectors()["chats"], [](const auto& chat) { return chat["prompt"].template get<bool>(); });
  EXPECT_EQ(tokenizer.encode((*first)["text"].get<std::string>()), vectors()["prompt_ids"].get<std::vector<int>>());
  EXPECT_EQ(tokenizer.decode(vectors()["answer_ids"].get<std::vector<int>>()), "The capital of France is Paris.");
  EXPECT_THAT(message_of<UsageError>([&] { tokenizer.encode("ab\x04"); }),
              HasSubstr("no token for byte 0x04 at byte 2"));
}

TEST(Tokenizer, TakesTheLongestSpecialTokenAndNeverMergesAcrossIt) {
  const Tokenizer tokenizer({{"<a>", "<a>b", "a", "b", "ab"}, {"a b"}, {0, 1}, "gpt-2", -1});
  EXPECT_THAT(tokenizer.encode("ab<a>bab<a>aba"), ElementsAre(4, 1, 4, 0, 4, 2));
}

TEST(Tokenizer, MergesLongRunsInReasonableTime) {
  const Tokenizer tokenizer(tiny_vocabulary("smollm"));
  for (const char* unit : {"e", "the", " ", "!"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    // Quadratic merging would take hours.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << unit;
  }
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const Tokenizer tokenizer(tiny_vocabulary("smollm"));
  EXPECT_THAT(message_of<UsageError>([&] { tokenizer.encode("ab\xFF"); }), HasSubstr("not UTF-8 at byte 2"));
  EXPECT_THAT(message_of<UsageError>([&] { tokenizer.encode("<|im_end|>x\xC3"); }), HasSubstr("not UTF-8 at byte 11"));
  EXPECT_THAT(message_of<UsageError>([&] { tokenizer.encode("\xED\xA0\x80"); }), HasSubstr("not UTF-8 at byte 0"));
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  const Tokenizer tokenizer({{"a"}, {}, {}, "gpt-2", -1});
  EXPECT_EQ(tokenizer.bytes(0), "a");
  for (int id : {-1, 1})
    EXPECT_THAT(message_of<UsageError>([&] { tokenizer.decode({{id}}); }), HasSubstr("outside the vocabulary of 1"));
}

TEST(Tokenizer, RefusesVocabulariesThatContradictThemselves) {
  const auto complain = [](const Vocabulary& vocabulary) {
    return message_of<UsageError>([&] { Tokenizer tokenizer(vocabulary); });
  };
  EXPECT_THAT(complain({{"a", "b"}, {"a b"}, {}, "gpt-2", -1}), HasSubstr("merge 0 ('a b') names tokens"));
  EXPECT_THAT(complain({{"a"}, {"a"}, {}, "gpt-2", -1}), HasSubstr("merge 0 ('a')"));
  EXPECT_THAT(complain({{"a", "\u4F60"}, {}, {}, "gpt-2", -1}),
              HasSubstr("token 1 of the vocabulary is not byte-level"));
  EXPECT_THAT(complain({{"a b"}, {}, {}, "gpt-2", -1}), HasSubstr("token 0"));
  EXPECT_THAT(complain({{"a\xC4"}, {}, {}, "gpt-2", -1}), HasSubstr("token 0"));
  EXPECT_THAT(complain({{"a", "b", "a"}, {}, {}, "gpt-2", -1}),
              HasSubstr("tokens 0 and 2 of the vocabulary are both 'a'"));
  EXPECT_THAT(complain({{"a"}, {}, {1}, "gpt-2", -1}), HasSubstr("special token 1"));
  EXPECT_THAT(message_of<Unsupported>([] { Tokenizer({{"a"}, {}, {}, "llama-bpe", -1}); }), HasSubstr("'llama-bpe'"));
}

GgufWriter vocabulary_file() {
  GgufWriter out;
  out.add("tokenizer.ggml.model", std::string("gpt2")).add("tokenizer.ggml.pre", std::string("smollm"));
  out.add("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "a", "b", "ab", "<t>"});
  out.add("tokenizer.ggml.merges", std::vector<std::string>{"a b"}).add("tokenizer.ggml.eos_token_id", 4u);
  return out.add("tokenizer.ggml.token_type", std::vector<i32>{3, 1, 1, 1, 4});
}

Vocabulary vocabulary_of(const GgufWriter& writer) {
  const TempFile file(writer.bytes());
  return read_vocabulary(Gguf(file.path()));
}

TEST(Tokenizer, ReadsTheVocabularyOfAGguf) {
  const Vocabulary vocabulary = vocabulary_of(vocabulary_file());
  EXPECT_THAT(vocabulary.special, ElementsAre(0, 4));
  EXPECT_EQ(vocabulary.pre, "smollm");
  EXPECT_EQ(vocabulary.end, 4);
  EXPECT_THAT(Tokenizer(vocabulary).encode("ab<t>"), ElementsAre(3, 4));
}

TEST(Tokenizer, RefusesAGgufWithAnotherTokenizer) {
  const auto changed = [](const char* key, auto value) {
    return [=] { vocabulary_of(vocabulary_file().remove(key).add(key, value)); };
  };
  EXPECT_THAT(message_of<Unsupported>(changed("tokenizer.ggml.model", std::string("llama"))),
              HasSubstr("tokenizer 'llama'"));
  EXPECT_THAT(message_of<Unsupported>(changed("tokenizer.ggml.add_bos_token", true)),
              HasSubstr("add_bos_token is set"));
  EXPECT_THAT(message_of<UsageError>(changed("tokenizer.ggml.eos_token_id", 5u)), HasSubstr("end token 5 of 5"));
  EXPECT_THAT(message_of<UsageError>(changed("tokenizer.ggml.token_type", std::vector<i32>{1})),
              HasSubstr("1 token types for 5 tokens"));
  EXPECT_THAT(message_of<UsageError>([] { vocabulary_of(vocabulary_file().remove("tokenizer.ggml.merges")); }),
              HasSubstr("no metadata 'tokenizer.ggml.merges'"));
}

TEST(Utf8Stream, CutsAsPythonsIncrementalDecoderDoes) {
  for (const auto& vector : vectors()["stream"]) {
    Utf8Stream stream;
    const std::string bytes = unhex(vector["bytes"]);
    std::vector<std::string> pieces;
    for (char byte : bytes) pieces.push_back(stream.push({&byte, 1}));
    pieces.push_back(stream.finish());
    if (!vector["pieces"].is_null()) {
      EXPECT_EQ(pieces, vector["pieces"].get<std::vector<std::string>>()) << vector["bytes"];
    }
    std::string joined, whole = stream.push(bytes);
    for (const std::string& piece : pieces) joined += piece;
    whole += stream.finish();
    EXPECT_EQ(joined, vector["whole"].get<std::string>()) << vector["bytes"];
    EXPECT_EQ(whole, joined);
  }
}

}  // namespace
}  // namespace baretile
