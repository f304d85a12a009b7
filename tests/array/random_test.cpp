// Against JAX 0.10.2 with jax_threefry_partitionable, its default: jax.random.<function>(jax.random.PRNGKey(42), …).
#include "baretile/random.h"

#include <bit>
#include <numeric>

#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

class Random : public OnDevice {
 protected:
  static Tensor key() { return random::key(runtime(), 42); }
};
ON_EACH_DEVICE(Random);

TEST_P(Random, BitsAndKeysAreJaxs) {
  EXPECT_EQ(random::bits(key(), {5}).to_host_uint32(),
            (std::vector<u32>{2098992034, 2919706841, 2646866425, 2409546199, 1935504149}));
  const std::vector<Tensor> keys = random::split(key(), 3);
  EXPECT_EQ(keys[0].to_host_uint32(), (std::vector<u32>{1832780943, 270669613}));
  EXPECT_EQ(keys[1].to_host_uint32(), (std::vector<u32>{64467757, 2916123636}));
  EXPECT_EQ(keys[2].to_host_uint32(), (std::vector<u32>{2465931498, 255383827}));
}

TEST_P(Random, UniformNumbersAreJaxsBitForBit) {
  const std::vector<float> values = random::uniform(key(), {3, 37}).to_host();
  std::vector<u32> words;
  for (const float v : values) words.push_back(std::bit_cast<u32>(v));
  EXPECT_EQ(std::vector<u32>(words.begin(), words.begin() + 4),
            (std::vector<u32>{1056585764, 1059981104, 1058915320, 1057988288}));
  EXPECT_EQ(std::vector<u32>(words.end() - 4, words.end()),
            (std::vector<u32>{1032640272, 1048035520, 1041641760, 1059809212}));
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), u64{0}), 116916708156u);
}

TEST_P(Random, BernoulliIsJaxs) {
  const std::vector<float> values = random::bernoulli(key(), 0.3, {100}).to_host();
  std::vector<int> packed;  // as numpy.packbits does
  for (size_t n = 0; n < values.size(); n += 8) {
    int byte = 0;
    for (size_t bit = 0; bit < 8 && n + bit < values.size(); ++bit) byte |= int(values[n + bit]) << (7 - bit);
    packed.push_back(byte);
  }
  EXPECT_EQ(packed, (std::vector<int>{2, 0, 38, 48, 3, 4, 64, 12, 85, 100, 14, 24, 16}));
}

TEST_P(Random, IntegersAreJaxs) {
  const std::vector<i32> few = random::randint(key(), {64}, -5, 1000).to_host_int32();
  EXPECT_EQ(std::vector<i32>(few.begin(), few.begin() + 12),
            (std::vector<i32>{184, 514, 736, 539, 804, 979, 102, 652, 344, 271, 982, 314}));
  EXPECT_EQ(std::accumulate(few.begin(), few.end(), 0), 30007);
  const std::vector<i32> wide = random::randint(key(), {64}, -(1 << 30), (1 << 30) - 7).to_host_int32();
  EXPECT_EQ(std::vector<i32>(wide.begin(), wide.begin() + 6),
            (std::vector<i32>{-95931189, 162639897, -293370697, 54246593, -598162803, -203448981}));
  EXPECT_EQ(std::accumulate(wide.begin(), wide.end(), i64{0}), -293790482);
}

TEST_P(Random, NormalNumbersAreJaxsToTheLastPlaces) {
  const std::vector<float> values = random::normal(key(), {1000}).to_host();
  const double want[] = {-0.02830461598932743, 0.4671318531036377,   0.2957029640674591,
                         0.15354591608047485,  -0.12403281778097153, 0.21692314743995667};
  for (size_t n = 0; n < std::size(want); ++n) EXPECT_NEAR(values[n], want[n], 1e-6 * std::fabs(want[n]));
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1000;
  EXPECT_NEAR(mean, 0.04047490656375885, 1e-6);
  double square = 0;
  for (const float v : values) square += (v - mean) * (v - mean);
  EXPECT_NEAR(std::sqrt(square / 1000), 0.9722599387168884, 1e-6);
}

TEST_P(Random, CategoriesAreJaxs) {
  Array logits{{4}, {std::log(0.1f), std::log(0.2f), std::log(0.3f), std::log(0.4f)}};
  const std::vector<i32> want{3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 3, 3, 2, 1, 3, 2, 2, 2, 3, 3,
                              3, 3, 0, 3, 2, 1, 1, 3, 1, 2, 3, 3, 3, 2, 3, 3, 3, 0, 3, 2};
  EXPECT_EQ(random::categorical(key(), upload(logits).expand({40, 4})).to_host_int32(), want);
}

TEST_P(Random, AnotherKeyCompilesNothing) {
  random::uniform(key(), {4, 40}).realize();
  const u64 loaded = runtime().stats().kernels_loaded;
  random::uniform(random::key(runtime(), 43), {4, 40}).realize();
  EXPECT_EQ(runtime().stats().kernels_loaded, loaded);
}

}  // namespace
}  // namespace baretile::tensor_test
