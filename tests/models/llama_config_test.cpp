#include "models/llama_config.h"

#include <gmock/gmock.h>

#include "models/support.h"

namespace baretile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

LlamaConfig config_of(const GgufWriter& writer) {
  const TempFile file(writer.bytes());
  return read_llama_config(Gguf(file.path()));
}

template <class E = UsageError, class Value>
std::string complaint_with(const std::string& key, const Value& value) {
  return message_of<E>([&] { config_of(tiny_llama().remove(key).add(key, value)); });
}

TEST(LlamaConfig, ReadsTheShapeOfAModel) {
  const LlamaConfig config = config_of(tiny_llama());
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.width, 32);
  EXPECT_EQ(config.ffn, 48);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.q_width(), 32);
  EXPECT_EQ(config.kv_width(), 16);
  EXPECT_EQ(config.context, 64);
  EXPECT_EQ(config.vocab, 40);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(config.rope_theta, 10000.0f);
  EXPECT_FALSE(config.tied_embedding);
}

TEST(LlamaConfig, RefusesSizesThatAreAbsurdOrDisagree) {
  EXPECT_THAT(complaint_with("llama.block_count", 0u), HasSubstr("llama.block_count is 0, not 1 to 1024"));
  EXPECT_THAT(complaint_with("llama.embedding_length", 4000000000u), HasSubstr("llama.embedding_length is 4000000000"));
  EXPECT_THAT(complaint_with("llama.attention.head_count", 5u), HasSubstr("5 heads cannot share 2"));
  EXPECT_THAT(complaint_with("llama.attention.head_count", 6u), HasSubstr("width 32 is no multiple of 6 heads"));
  EXPECT_THAT(complaint_with("llama.attention.key_length", 7u), HasSubstr("heads of 7 elements"));
  EXPECT_THAT(complaint_with("llama.attention.layer_norm_rms_epsilon", 0.0f), HasSubstr("epsilon is 0"));
  EXPECT_THAT(complaint_with("llama.block_count", 3u), HasSubstr("no tensor 'blk.2."));
  EXPECT_THAT(complaint_with("llama.feed_forward_length", 64u),
              HasSubstr("tensor 'blk.0.ffn_down.weight' is [32, 48], not [32, 64]"));
  EXPECT_THAT(complaint_with("tokenizer.ggml.tokens", std::vector<std::string>(41, "x")),
              HasSubstr("is [40, 32], not [41, 32]"));
  EXPECT_THAT(message_of<UsageError>([] { config_of(tiny_llama().remove("llama.context_length")); }),
              HasSubstr("'llama.context_length'"));
}

TEST(LlamaConfig, RefusesWhatTheForwardPassWouldIgnore) {
  EXPECT_THAT(complaint_with<Unsupported>("general.architecture", std::string("qwen2")),
              HasSubstr("architecture 'qwen2'"));
  EXPECT_THAT(complaint_with<Unsupported>("llama.rope.scaling.type", std::string("yarn")),
              HasSubstr("llama.rope.scaling.type is set"));
  EXPECT_THAT(complaint_with<Unsupported>("llama.rope.dimension_count", 4u),
              HasSubstr("llama.rope.dimension_count is 4, but heads have 8"));
  EXPECT_THAT(message_of<Unsupported>(
                  [] { config_of(tiny_llama().tensor("blk.0.attn_q.bias", {32}, std::vector<float>(32))); }),
              HasSubstr("tensor 'blk.0.attn_q.bias' is no part of a plain Llama"));
}

TEST(LlamaConfig, TiesTheOutputToTheEmbeddingWhenThereIsNoOutputMatrix) {
  EXPECT_TRUE(config_of(tiny_llama(true)).tied_embedding);
}

TEST(LlamaConfig, LoadsQueryRowsInHuggingFacesOrderAndOthersAsTheyAre) {
  std::vector<float> rows(32 * 32);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i / 32);  // every element says its row
  const TempFile file(
      GgufWriter().tensor("blk.0.attn_q.weight", {32, 32}, rows).tensor("blk.0.attn_v.weight", {32, 32}, rows).bytes());
  const Gguf gguf(file.path());
  LlamaConfig config;
  config.head_dim = 8;
  const std::vector<u16> q = load_matrix(gguf, config, layer_tensor(0, "attn_q")),
                         v = load_matrix(gguf, config, layer_tensor(0, "attn_v"));
  std::vector<int> order;
  for (int row = 8; row < 16; ++row) order.push_back(static_cast<int>(bf16_to_float(q[row * 32 + 5])));
  // NumPy: np.arange(8, 16).reshape(4, 2).T.ravel()
  EXPECT_THAT(order, ElementsAre(8, 10, 12, 14, 9, 11, 13, 15));
  EXPECT_EQ(bf16_to_float(v[9 * 32]), 9);
}

}  // namespace
}  // namespace baretile
